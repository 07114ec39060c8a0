import { harnessLineText, isDifferent, verdictText } from "@plimsoll/fold";
import { lineCauseText } from "@plimsoll/harnesses/lines";
import type { FleetAgent, ObservedHarnessLine } from "@plimsoll/protocol/api";
import { tokens } from "../number-format.ts";
import { type Paint, printable } from "../terminal.ts";

/** Harnesses that are listed. */
const MOST = 10;

/** Where the harnesses of live agents compact by themselves: first those that do it elsewhere than at their line, with the causes. */
export function harnessLineLines(
  agents: readonly FleetAgent[],
  observed: readonly ObservedHarnessLine[],
  paint: Paint,
): string[] {
  const subjects = subjectsOf(agents, observed);
  const listed = [
    ...subjects.filter(({ differs }) => differs),
    ...subjects.filter(({ differs }) => !differs),
  ];
  if (listed.length === 0) return [];
  const lines = listed
    .slice(0, MOST)
    .flatMap(({ text, differs, causes }) => [
      differs ? paint("yellow", text) : text,
      ...causes.map((cause) => `    ${cause}`),
    ]);
  const more = listed.length - MOST;
  return ["", paint("bold", "Where harnesses compact"), ...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}

interface Subject {
  text: string;
  differs: boolean;
  causes: string[];
}

/** One for each harness, model, window size and kind of agent. */
function subjectsOf(agents: readonly FleetAgent[], observed: readonly ObservedHarnessLine[]): Subject[] {
  const subjects = new Map<string, Subject>();
  for (const { harness, model, window_tokens: size, parent, harness_line: own } of agents) {
    const seen = observed.find(
      (one) =>
        one.harness === harness &&
        one.model === model &&
        one.window_tokens === size &&
        one.sub_agents === (parent !== null),
    );
    const line = seen?.line ?? own;
    const sentence = harnessLineText(line, seen);
    const key = JSON.stringify([harness, model, size, parent !== null]);
    if (sentence === "" || subjects.has(key)) continue;
    const names = [
      harness,
      model ?? "unknown model",
      size === null ? "window size unknown" : `${tokens(size)} window`,
      ...(parent === null ? [] : ["sub-agents"]),
    ];
    const more = seen === undefined ? "" : ` ${verdictText(line, seen)}`;
    subjects.set(key, {
      text: `  ${printable(names.join(", "))}: ${sentence}${more}`.trimEnd(),
      differs: seen !== undefined && isDifferent(seen.verdict),
      causes: (seen?.causes ?? []).map((cause) => lineCauseText(cause, harness)),
    });
  }
  return [...subjects.values()];
}
