import { LONGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CallResult, Witness } from "@plimsoll/protocol/pure";
import { fitName } from "../recordings/text.ts";
import { type EventOwner, eventEnvelope } from "./event-envelope.ts";

/** The end of a tool call, as a record tells it. */
export interface EndedTool {
  owner: EventOwner;
  /** Identifies the call in its session. */
  call: string;
  /** Epoch ms. */
  at: number;
  result: CallResult;
  /** The id of the turn that asked for it, if the record names it. */
  turn?: string | undefined;
  witness?: Witness;
}

/** What came of a tool call, without its name, its input and its output. */
export function toolResult({
  owner,
  call,
  at,
  result,
  turn,
  witness = "otlp",
}: EndedTool): PlimsollEventInput {
  return {
    ...eventEnvelope(owner, `tool/${call}`, at),
    type: "tool_result",
    witness,
    result,
    turn: turn === undefined ? undefined : fitName(turn, LONGEST.id),
  };
}
