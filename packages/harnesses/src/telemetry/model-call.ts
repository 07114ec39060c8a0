import { type Basis, LARGEST, LONGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import type { Witness } from "@plimsoll/protocol/pure";
import { fitName } from "../recordings/text.ts";
import { type AttributeNames, numberOf, textOf, tokensOf } from "./attributes.ts";
import { type EventOwner, eventEnvelope } from "./event-envelope.ts";
import type { Attributes } from "./telemetry-record.ts";

/** Under which names a dialect reports one model call. */
export interface ModelCallNames {
  model: AttributeNames;
  input: AttributeNames;
  cacheRead: AttributeNames;
  cacheWrite: AttributeNames;
  output: AttributeNames;
  reasoning: AttributeNames;
  window: AttributeNames;
  costUsd: AttributeNames;
  /** Whether input includes cached tokens. Undefined if emitters disagree: then the numbers decide. */
  basis?: Basis;
}

/** What a record says of a call besides its attributes. */
export interface ModelCallFacts {
  owner: EventOwner;
  id: string;
  /** When the answer was complete, epoch ms. */
  at: number;
  durationMs?: number | undefined;
  purpose?: "compaction" | undefined;
  /** Undefined for the telemetry of a harness or an SDK. */
  witness?: Witness | undefined;
}

/** A turn; undefined if no prompt was counted, such as in a call that failed. */
export function modelCall(
  attributes: Attributes,
  names: ModelCallNames,
  { owner, id, at, durationMs, purpose, witness = "otlp" }: ModelCallFacts,
): PlimsollEventInput | undefined {
  const input = tokensOf(attributes, names.input);
  const cacheRead = tokensOf(attributes, names.cacheRead);
  const cacheWrite = tokensOf(attributes, names.cacheWrite);
  const output = tokensOf(attributes, names.output);
  if (input === undefined || !(input || cacheRead || cacheWrite || output)) return undefined;
  const window = tokensOf(attributes, names.window);
  const cost = numberOf(attributes, names.costUsd);
  const envelope = eventEnvelope(owner, id, at);
  // Field by field: with spreads, V8 takes almost five times as long for all that is done with a decoded span.
  return {
    id: envelope.id,
    at,
    harness: envelope.harness,
    session: envelope.session,
    agent: envelope.agent,
    parent_agent: envelope.parent_agent,
    own_session: envelope.own_session,
    type: "turn",
    witness,
    model: fitName(textOf(attributes, names.model) ?? "unknown", LONGEST.model),
    usage: {
      input_tokens: input,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      output_tokens: output,
      reasoning_tokens: tokensOf(attributes, names.reasoning),
      basis: names.basis,
    },
    context_window: window || undefined,
    duration_ms: upTo(LARGEST.integer, durationMs),
    cost_usd: upTo(LARGEST.costUsd, cost),
    purpose,
  };
}

const upTo = (largest: number, value: number | undefined) =>
  value !== undefined && value >= 0 && value <= largest ? value : undefined;
