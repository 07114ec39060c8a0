/** What the status line was asked to do. */
export interface StatuslineArguments {
  /** A command of the person, whose output comes first. */
  wrap: string | undefined;
  /** Whether the line ends with the limits of the account. */
  showsQuota: boolean;
  /** Whether it says when the prompt cache goes cold. */
  showsCache: boolean;
  /** Whether this run only reports to the server. */
  isReport: boolean;
}

/** @param words after the name of the program */
export function statuslineArguments(words: readonly string[]): StatuslineArguments {
  const place = words.indexOf("--wrap");
  return {
    wrap: place < 0 ? undefined : words[place + 1],
    showsQuota: words.includes("--quota"),
    showsCache: words.includes("--cache"),
    isReport: words.includes("--report"),
  };
}
