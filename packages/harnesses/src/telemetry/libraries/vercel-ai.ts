import { textOf } from "../attributes.ts";
import { serviceFamily, subAgentOf } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { GEN_AI_CALL, readGenAiSpan } from "./gen-ai.ts";

/** The AI SDK adds its own names, of which the newer ones tell reads of the cache from writes. */
const CALL = {
  ...GEN_AI_CALL,
  model: [...GEN_AI_CALL.model, "ai.response.model", "ai.model.id"],
  input: [...GEN_AI_CALL.input, "ai.usage.inputTokens", "ai.usage.promptTokens"],
  cacheRead: [
    ...GEN_AI_CALL.cacheRead,
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
  ],
  cacheWrite: [...GEN_AI_CALL.cacheWrite, "ai.usage.inputTokenDetails.cacheWriteTokens"],
  output: [...GEN_AI_CALL.output, "ai.usage.outputTokens", "ai.usage.completionTokens"],
  reasoning: [
    ...GEN_AI_CALL.reasoning,
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
  ],
};

/** What the program says of a call: metadata up to version 6, the runtime context in version 7. */
const saidAs = (names: readonly string[]) =>
  ["ai.telemetry.metadata.", "ai.settings.context."].flatMap((prefix) => names.map((name) => prefix + name));
const SESSION = saidAs(["sessionId", "session_id", "conversationId", "threadId", "chatId"]);
const AGENT = [...saidAs(["agent", "agentName"]), "ai.telemetry.functionId"];
/** Spans around calls of the provider have its name; those around them sum up. */
const CALLS = /\.(doGenerate|doStream)$/;

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
    const operation = textOf(record.attributes, ["ai.operationId"]) ?? "";
    if (!CALLS.test(operation))
      return noEvent(record.attributes.has("ai.usage.inputTokens") ? "aggregate" : "not_needed");
    const { attributes, resource } = record;
    const agent = textOf(attributes, AGENT);
    const session = textOf(attributes, SESSION);
    const options = { family: serviceFamily(resource, "vercel-ai"), session, names: CALL };
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
