import { familyDefaults } from "@plimsoll/harnesses/lines";
import { type PolicyBody, resolveForHarness } from "@plimsoll/protocol/policy";
import { THRESHOLD_ORDER, thresholdTokens } from "@plimsoll/protocol/pure";
import { exact } from "../format.ts";
import { originText, subjectOf } from "./scope.ts";
import { type EditedScope, scopeText } from "./scope-key.ts";

/**
 * Thresholds of a scope that come too late to be crossed, such as the default warning of a family above the ceiling that the policy
 * sets. Each is a sentence.
 * @param windowTokens size of the window that they are compared in
 */
export function clashesOf(body: PolicyBody, scope: EditedScope, windowTokens: number): string[] {
  const subject = subjectOf(scope);
  const { settings, origins } = resolveForHarness(body, subject, familyDefaults(subject.harness));
  const tokensOf = (name: (typeof THRESHOLD_ORDER)[number][0]) =>
    thresholdTokens(name, settings.thresholds?.[name] ?? null, windowTokens);
  const originOf = (name: string) => originText(origins[`thresholds.${name}`], subject.harness);
  return THRESHOLD_ORDER.flatMap(([first, second]) => {
    const [low, high] = [tokensOf(first), tokensOf(second)];
    if (low === undefined || high === undefined || low < high) return [];
    return `${first} (${originOf(first)}) is at ${exact(low)} tokens, and ${second} (${originOf(second)}) at ${exact(high)}: ${first} is crossed too late to be of use. Set ${first} below ${second}.`;
  });
}

/** The clashes of all scopes of a policy in a window of 200,000 tokens, with the scope that each concerns. */
export function allClashes(body: PolicyBody): string[] {
  const scopes: EditedScope[] = [undefined, ...body.layers.map(({ scope }) => scope)];
  return scopes.flatMap((scope) =>
    clashesOf(body, scope, 200_000).map((text) =>
      scope === undefined ? `For all agents: ${text}` : `For ${scopeText(scope)}: ${text}`,
    ),
  );
}
