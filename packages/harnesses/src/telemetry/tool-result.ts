import { LONGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CallResult, Witness } from "@plimsoll/protocol/pure";
import { fitName } from "../recordings/text.ts";
import { type EventOwner, eventEnvelope } from "./event-envelope.ts";

/** Characters that the protocol takes of a name. */
const LONGEST_TOOL = 128;

/** The end of a tool call, as a record tells it. */
export interface EndedTool {
  owner: EventOwner;
  /** Identifies the call in its session. */
  call: string;
  /** Epoch ms. */
  at: number;
  result: CallResult;
  /** The name of the tool, as the model knows it. */
  tool: string | undefined;
  /** The id of the turn that asked for it, if the record names it. */
  turn?: string | undefined;
  witness?: Witness;
}

/** What came of a tool call, without its input and its output. */
export function toolResult({
  owner,
  call,
  at,
  result,
  tool,
  turn,
  witness = "otlp",
}: EndedTool): PlimsollEventInput {
  return {
    ...eventEnvelope(owner, `tool/${call}`, at),
    type: "tool_result",
    witness,
    result,
    tool: tool === undefined ? undefined : fitName(tool, LONGEST_TOOL),
    turn: turn === undefined ? undefined : fitName(turn, LONGEST.id),
  };
}
