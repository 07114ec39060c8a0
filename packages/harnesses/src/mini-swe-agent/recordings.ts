import { OPENAI_CHAT } from "@plimsoll/fold";
import { resultOfCode } from "../recordings/call-outcomes.ts";
import { AgentHistory, historyReading } from "../recordings/history.ts";
import {
  asArray,
  asCost,
  asNumber,
  asObject,
  asText,
  asTime,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import { messageItems } from "../recordings/message-texts.ts";
import {
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { firstText } from "../recordings/text.ts";

export const miniSweAgentRecordings: Recordings = {
  place: "a folder of runs, or a .traj.json file",
  files: [/\.traj\.json$/],
  recognizes: (json) => /^mini-swe-agent-/.test(asText(json.trajectory_format) ?? ""),
  reader: miniSweAgentReader,
};

/**
 * Reads the trajectories of mini-SWE-agent: one file a run. Each answer has the whole response of the model, with the counts of its
 * prompt, and the message after it has what its command returned.
 */
function miniSweAgentReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const runs = new Map<string, AgentHistory>();

  const histories = () => [...runs].map(([session, history]) => [history, { session }] as const);
  return { read, ...historyReading(histories, options, skips) };

  function read(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const session = asText(json.instance_id) ?? asText(asObject(json.info)?.instance_id);
    if (session === undefined) return skips.count("no_session");
    const history = new AgentHistory();
    const messages = asArray(json.messages).map((message) => asObject(message) ?? {});
    let call: string | undefined;
    for (const [index, message] of messages.entries()) {
      if (message.role === "assistant") skips.count(readAnswer(history, message, messages[index + 1]));
      history.texts.add(`message/${index}`, {
        at: Math.max(0, history.lastAt),
        items: itemsOf(message, call),
      });
      call = message.role === "assistant" ? (responseId(message) ?? String(index)) : undefined;
    }
    if (history.turns.size === 0) return "no_usage";
    history.addTitle("harness", history.firstAt, session);
    runs.set(session, history);
    return undefined;
  }
}

const responseId = ({ extra }: JsonObject) => asText(asObject(asObject(extra)?.response)?.id);

/** Before version 2, a command is in the text of the answer, and what it returned in a message of the user. @param call of the message before */
function itemsOf(message: JsonObject, call: string | undefined) {
  if (message.role === "user" && call !== undefined)
    return messageItems({ role: "tool", tool_call_id: call, name: "bash", content: message.content });
  const items = messageItems(message);
  const id = responseId(message);
  const command = commandIn(message, asObject(message.extra));
  if (message.role !== "assistant" || command === undefined || items.some(({ kind }) => kind === "tool_call"))
    return items;
  const text = firstText(message.content) ?? "";
  const rest = text.replace(command, "");
  return [
    ...messageItems({ role: "assistant", content: rest }),
    ...messageItems({ role: "assistant", tool_calls: [{ id, name: "bash", input: command }] }),
  ];
}

function readAnswer(
  history: AgentHistory,
  message: JsonObject,
  next: JsonObject | undefined,
): SkipReason | undefined {
  const extra = asObject(message.extra);
  const response = asObject(extra?.response);
  const counts = asObject(response?.usage);
  if (counts === undefined) return "no_usage";
  const seconds = asNumber(extra?.timestamp) ?? asNumber(response?.created);
  const at = seconds === undefined ? undefined : asTime(seconds * 1_000);
  if (at === undefined) return "no_time";
  const id = asText(response?.id) ?? `answer/${history.turns.size}`;
  const command = commandIn(message, extra);
  if (command !== undefined) history.calls.add({ id, at, turn: id, name: "bash", input: command });
  const code = codeOf(next);
  if (code !== undefined) history.calls.addResult(id, resultOfCode(code));
  const counted = recordedUsage(OPENAI_CHAT, counts);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id,
    at,
    model: asText(response?.model),
    ...counted,
    costUsd: asCost(counts.cost) ?? asCost(extra?.cost),
  });
}

/** The first command of an answer. An answer with several is refused, and its agent told so. */
function commandIn(message: JsonObject, extra: JsonObject | undefined): string | undefined {
  const action = asText(asObject(asArray(extra?.actions)[0])?.command);
  return (
    action ?? /```(?:bash|mswea_bash_command)\s*\n([\s\S]*?)\n```/.exec(firstText(message.content) ?? "")?.[1]
  );
}

/** What the message after an answer says that its command returned. Undefined if it did not run. */
function codeOf(next: JsonObject | undefined): number | undefined {
  const written = /^\s*<returncode>(-?\d+)<\/returncode>/.exec(firstText(next?.content) ?? "")?.[1];
  return asNumber(asObject(next?.extra)?.returncode) ?? (written === undefined ? undefined : Number(written));
}
