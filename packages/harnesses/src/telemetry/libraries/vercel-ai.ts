import { type CountedUsage, readAiSdk } from "@plimsoll/fold";
import { parseJson } from "../../recordings/json.ts";
import { textOf } from "../attributes.ts";
import { serviceFamily, subAgentOf } from "../event-envelope.ts";
import type { ModelCallNames } from "../model-call.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import type { Attributes } from "../telemetry-record.ts";
import { GEN_AI_CALL, readGenAiSpan, readToolSpan } from "./gen-ai.ts";

const CALL: ModelCallNames = {
  ...GEN_AI_CALL,
  model: [...GEN_AI_CALL.model, "ai.response.model", "ai.model.id"],
  stop: ["ai.response.finishReason", ...GEN_AI_CALL.stop!],
};

const DETAILS = ["noCacheTokens", "cacheReadTokens", "cacheWriteTokens"];
/** Names of the GenAI conventions, which it writes beside its own. */
const ALSO: Readonly<Record<string, string>> = {
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
};

/** The counts of a call. They have the names of the SDK's usage, and what the provider counted is in its metadata. */
function countsOf(attributes: Attributes): CountedUsage {
  const get = (name: string): unknown =>
    name === "inputTokenDetails"
      ? DETAILS.map((one) => get(`${name}.${one}`)).find((count) => count !== undefined)
      : (attributes.get(`ai.usage.${name}`) ?? attributes.get(ALSO[name] ?? ""));
  const metadata = parseJson(textOf(attributes, ["ai.response.providerMetadata"]) ?? "");
  return readAiSdk(get, metadata, textOf(attributes, ["ai.model.provider", "gen_ai.system"]));
}

/** What the program says of a call: metadata up to version 6, the runtime context in version 7. */
const saidAs = (names: readonly string[]) =>
  ["ai.telemetry.metadata.", "ai.settings.context."].flatMap((prefix) => names.map((name) => prefix + name));
const SESSION = saidAs(["sessionId", "session_id", "conversationId", "threadId", "chatId"]);
const AGENT = [...saidAs(["agent", "agentName"]), "ai.telemetry.functionId"];
/** Spans around calls of the provider have its name; those around them sum up. */
const CALLS = /\.(doGenerate|doStream)$/;

/** A span around a tool; version 6 gives it the metadata of the call. */
const TOOL = "ai.toolCall";

/** opencode names the function of every call so. */
const OPENCODE_FUNCTION = "session.llm";
/** Its sub-agents have sessions of their own, which name that of the parent. */
const OPENCODE_PARENT = ["ai.request.headers.x-parent-session-id"];

/**
 * Spans of the Vercel AI SDK 4 to 6 (`experimental_telemetry`), and of version 7 with `LegacyOpenTelemetry`. Otherwise version 7
 * follows the GenAI conventions.
 */
export const vercelAi: TelemetryDialect = {
  name: "vercel-ai",
  speaks: ({ attributes, signal }) => signal === "traces" && attributes.has("ai.operationId"),
  read(record) {
    if (record.signal !== "traces") return noEvent("not_needed");
    const { attributes, resource } = record;
    const operation = textOf(attributes, ["ai.operationId"]) ?? "";
    const agent = textOf(attributes, AGENT);
    const session = textOf(attributes, SESSION);
    // opencode asks for tools in sessions of sub-agents too, and only calls name the parent of such a session.
    if (operation === TOOL && agent !== OPENCODE_FUNCTION)
      return readToolSpan(record, { family: serviceFamily(resource, "vercel-ai"), session, agent });
    if (!CALLS.test(operation))
      return noEvent(attributes.has("ai.usage.inputTokens") ? "aggregate" : "not_needed");
    const options = {
      family: serviceFamily(resource, "vercel-ai"),
      session,
      names: CALL,
      counted: countsOf(attributes),
    };
    if (agent !== OPENCODE_FUNCTION) return readGenAiSpan(record, { ...options, agent });
    // opencode offers tools in each call of a conversation, and none for a title or a summary.
    if (!attributes.has("ai.prompt.tools")) return noEvent("auxiliary");
    const parent = textOf(attributes, OPENCODE_PARENT);
    return readGenAiSpan(record, {
      ...options,
      ...(parent !== undefined && session !== undefined && subAgentOf(parent, session)),
    });
  },
};
