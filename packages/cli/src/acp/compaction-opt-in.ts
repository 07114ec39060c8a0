import type { Fields } from "@plimsoll/harnesses/bridge/adapter";
import { at, isFields, numberAt, textAt, withChanges } from "@plimsoll/harnesses/fields";

const CAPABILITY = ["params", "clientCapabilities", "session", "compaction"];
/** A newer version has no such capability: its agents always tell. */
const VERSION = 1;

/** Text of the line that opts in. */
export const INITIALIZE_MARK = '"initialize"';

/**
 * The client's first request with the capability to be told of compactions; undefined for other messages, and for a client that has
 * it already.
 * @see https://agentclientprotocol.com/rfds/session-compaction
 */
export function optIn(message: unknown): Fields | undefined {
  if (!isFields(message) || textAt(message, ["method"]) !== "initialize") return undefined;
  if (numberAt(message, ["params", "protocolVersion"]) !== VERSION) return undefined;
  return isFields(at(message, CAPABILITY))
    ? undefined
    : withChanges(message, [{ path: CAPABILITY, value: {} }]);
}

/** Whether the agent would not have sent the message to a client without the capability. */
export function toldOfCompaction(message: unknown): boolean {
  const kind = textAt(message, ["params", "update", "sessionUpdate"]);
  return kind === "compaction_update" || kind === "compaction_summary_chunk";
}
