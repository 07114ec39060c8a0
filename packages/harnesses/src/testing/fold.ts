import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  constantTimeline,
  type FoldResult,
  foldAgent,
  type MarkFacts,
  markFacts,
  mergeTurns,
  type TurnFacts,
  toolResultFacts,
  turnFacts,
} from "@plimsoll/fold";
import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/policy";
import type { FileHint, HarnessReader } from "../recordings/reader.ts";

const NO_MARKS = { resultOf: undefined, tool: undefined };

/** Real recordings outside the repository. Tests that need them are skipped without them. */
export const FIXTURES = fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
export const hasFixtures = existsSync(FIXTURES);

/** Folds every agent's history as the server does, keyed by `session agent`. Throws on an event that the server rejects. */
export function foldEvents(inputs: readonly PlimsollEventInput[]): Map<string, FoldResult> {
  const agents = new Map<string, { turns: Map<string, TurnFacts>; marks: Map<string, MarkFacts> }>();
  for (const input of inputs) {
    const parsed = parseEvent(input);
    if (!parsed.ok) throw new Error(`${JSON.stringify(parsed.rejection)} in ${JSON.stringify(input)}`);
    const { event } = parsed;
    if (event.type === "quota") continue;
    const key = `${event.session} ${event.agent}`;
    const agent = agents.get(key) ?? { turns: new Map(), marks: new Map() };
    agents.set(key, agent);
    if (event.type === "turn" || event.type === "tool_result") {
      const facts =
        event.type === "turn" ? turnFacts(event, event.id) : toolResultFacts(event, event.id, NO_MARKS);
      const seen = agent.turns.get(event.id);
      agent.turns.set(event.id, seen === undefined ? facts : mergeTurns(seen, facts));
    } else if (event.type !== "session" && event.type !== "harness") {
      agent.marks.set(event.id, markFacts(event));
    }
  }
  const lookups = { configured: () => undefined, catalog: () => undefined };
  return new Map(
    [...agents].map(([key, { turns, marks }]) => [
      key,
      foldAgent([...turns.values()], [...marks.values()], {
        thresholds: constantTimeline(DEFAULT_THRESHOLDS),
        lookups,
      }),
    ]),
  );
}

/** The agent's context tokens in order. */
export function levels(fold: FoldResult | undefined): (number | undefined)[] {
  return fold?.turns.map((turn) => turn.contextTokens) ?? [];
}

export function readAll(reader: HarnessReader, files: readonly (FileHint & { lines: readonly string[] })[]) {
  for (const { lines, ...file } of files) for (const line of lines) reader.read(line, file);
  return reader.take(true);
}

export function json(...lines: unknown[]): string[] {
  return lines.map((line) => JSON.stringify(line));
}
