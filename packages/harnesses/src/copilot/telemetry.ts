import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { textOf, tokensOf, truthOf } from "../telemetry/attributes.ts";
import { type EventOwner, eventEnvelope, harnessName } from "../telemetry/event-envelope.ts";
import { comesFrom, GEN_AI_CALL, readGenAiSpan } from "../telemetry/libraries/gen-ai.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../telemetry/reading.ts";
import type { Attributes, SpanEvent, SpanRecord } from "../telemetry/telemetry-record.ts";

const FAMILY = "copilot";

/** The extension for VS Code reports the size of the prompt that the model takes. */
const CALL = {
  ...GEN_AI_CALL,
  window: [...GEN_AI_CALL.window, "copilot_chat.request.max_prompt_tokens"],
  asksPerson: true,
};

/**
 * GitHub Copilot CLI and Copilot Chat: `chat` spans, and truncations and compactions as events of any span. Names:
 * docs.github.com "Copilot CLI command reference", 2026.
 */
export const copilotTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^(github[.-]copilot|copilot-chat)\b/),
  read(record) {
    if (record.signal !== "traces") return noEvent("reported_elsewhere");
    const { attributes } = record;
    // A recording has the sub-agent's id, its compactions and all of its calls. Spans have none of these.
    if (textOf(attributes, ["github.copilot.initiator"]) === "sub-agent") return noEvent("no_agent");
    const session = textOf(attributes, ["gen_ai.conversation.id"]);
    const agent = agentOf(attributes);
    const marks =
      session === undefined || isRunOfSubAgent(record)
        ? []
        : record.events.flatMap((event) => markOf(record, event, { agent, session }));
    const call = readGenAiSpan(record, { family: FAMILY, session, names: CALL, agent });
    return withMarks(call, marks);
  },
};

const isRun = (attributes: Attributes) => textOf(attributes, ["gen_ai.operation.name"]) === "invoke_agent";

/** The run of the main agent has a name, too, if a person chose an agent for it. */
const agentOf = (attributes: Attributes) =>
  isRun(attributes) ? undefined : textOf(attributes, ["gen_ai.agent.name"]);

const isRunOfSubAgent = ({ attributes, parentSpanId }: SpanRecord): boolean =>
  isRun(attributes) && parentSpanId !== "" && textOf(attributes, ["gen_ai.agent.name"]) !== undefined;

function withMarks(call: RecordReading, marks: PlimsollEventInput[]): RecordReading {
  if (call.events !== undefined) return { events: [...marks, ...call.events] };
  return marks.length > 0 ? { events: marks } : call;
}

const names = (name: string) => [`github.copilot.${name}`, name];

function markOf(
  span: SpanRecord,
  event: SpanEvent,
  sender: Omit<EventOwner, "harness">,
): PlimsollEventInput[] {
  const { attributes } = event;
  const owner = { ...sender, harness: harnessName(span.resource, FAMILY) };
  if (event.name === "github.copilot.session.truncation") {
    const observations = tokensOf(attributes, names("messages_removed")) ?? 0;
    return [
      {
        ...eventEnvelope(owner, `truncation/${span.spanId}/${event.at}`, event.at),
        type: "masked",
        observations,
        // Its counts are those of the messages alone, without system prompt and tools.
        tokens_before: undefined,
        tokens_after: undefined,
      },
    ];
  }
  if (event.name !== "github.copilot.session.compaction_complete") return [];
  if (names("success").some((name) => truthOf(attributes, name) === false)) return [];
  return [
    {
      ...eventEnvelope(owner, `compaction/${span.spanId}/${event.at}`, event.at),
      type: "compacted",
      trigger: "auto",
      // Its counts are estimates of the harness. The calls around it have the levels.
      tokens_before: undefined,
      tokens_after: undefined,
    },
  ];
}
