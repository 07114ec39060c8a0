/** A mistake in something that a person wrote. */
export interface Mistake {
  /** Such as `condition.at_least`; empty for the whole. */
  path: string;
  message: string;
}

/** Mistakes that a message names. The details of an error have all of them. */
const NAMED = 3;

/**
 * The first mistakes in words.
 * @param whole what the mistakes are in, for those without a path
 */
export function mistakesText(mistakes: readonly Mistake[], whole: string): string {
  const named = mistakes.slice(0, NAMED).map(({ path, message }) => `${path || whole}: ${message}.`);
  const left = mistakes.length - named.length;
  return left === 0 ? named.join(" ") : `${named.join(" ")} The details name ${left} more.`;
}
