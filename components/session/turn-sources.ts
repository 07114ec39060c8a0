import type { AgentView, TurnView } from "@plimsoll/protocol/api";
import type { Witness } from "@plimsoll/protocol/events";
import { compact } from "../format.ts";

/** In the order of trust. */
const NAMES: Readonly<Record<Witness, string>> = {
  harness: "the harness",
  otlp: "telemetry",
  hook: "a hook",
  status_line: "the status line",
  instrumentation: "an instrumentation",
  openinference: "OpenInference",
  transcript: "a transcript",
  acp: "the Agent Client Protocol",
};

/** Such as "telemetry and the status line"; null if only the harness itself reported the turns. */
export function sourcesText(turns: readonly Pick<TurnView, "sources">[]): string | null {
  const found = new Set(turns.flatMap(({ sources }) => sources));
  const names = Object.entries(NAMES).flatMap(([witness, name]) =>
    found.has(witness as Witness) ? [name] : [],
  );
  if (names.length === 0 || (names.length === 1 && found.has("harness"))) return null;
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Who reported the size of an agent's window with one of its turns. */
export interface WindowReport {
  /** Such as "the status line"; null if no turn says. */
  by: string | null;
  /** Such as "the status line says 1M, telemetry says 200k"; null if all agree. */
  conflict: string | null;
}

/** @param turns newest first */
export function windowReport(
  turns: readonly Pick<TurnView, "model" | "compaction" | "window_claims">[],
  agent: Pick<AgentView, "model" | "window_tokens">,
): WindowReport {
  // A model that compacts has a window of its own.
  const claims = turns.find(
    ({ model, compaction, window_claims }) =>
      model === agent.model && !compaction && window_claims.length > 0,
  )?.window_claims;
  const first = claims?.[0];
  if (claims === undefined || first === undefined) return { by: null, conflict: null };
  const isAgreed = claims.every(({ tokens }) => tokens === first.tokens);
  return {
    by: first.tokens === agent.window_tokens ? NAMES[first.source] : null,
    conflict: isAgreed
      ? null
      : claims.map(({ source, tokens }) => `${NAMES[source]} says ${compact(tokens)}`).join(", "),
  };
}
