import type { StopReason } from "@plimsoll/protocol/pure";
import { fieldsOf } from "./usage-shape.ts";

/** How the words of providers and libraries begin. Anthropic pauses a turn while it runs a tool of its own, and goes on. */
const BEGINNINGS: readonly (readonly [RegExp, StopReason])[] = [
  [/^(tool|function|pause)_?-?(use|call|turn)/, "tool_use"],
  [/^(end_?turn|stop|eos)/, "end_turn"],
  [
    /^(length|max|model_|refus|content|guard|safety|recit|block|prohib|spii|malf|err|abort|cancel)/,
    "cut_off",
  ],
];

/**
 * What a provider's word for the end of an answer means, such as `stop_reason`, `finish_reason` or `done_reason`. A list, or the text
 * of one, has a word an answer; the first counts. Undefined for a word that tells nothing: Google writes `STOP` also for an answer
 * that calls tools.
 */
export function stopReasonOf(said: unknown): StopReason | undefined {
  const text = Array.isArray(said) ? said[0] : said;
  const word = typeof text === "string" ? /[a-z][\w-]*/i.exec(text)?.[0] : undefined;
  if (word === undefined || word === "STOP") return undefined;
  return BEGINNINGS.find(([beginning]) => beginning.test(word.toLowerCase()))?.[1];
}

/** Why an answer of an API or SDK ended. One that calls a tool may say `stop`, such as Google's and Ollama's. */
export function stopOfAnswer(answer: unknown): StopReason | undefined {
  const fields = fieldsOf(answer) ?? {};
  const choice = fieldsOf(listOf(fields.choices ?? fields.candidates)[0]) ?? fields;
  const message = fieldsOf(choice.message ?? choice.content) ?? choice;
  const blocks = [message.content, message.parts, fields.output].flatMap(listOf).map(fieldsOf);
  if (listOf(message.tool_calls).length > 0 || blocks.some(isCall)) return "tool_use";
  const said = SAID.map(
    (name) => fields[name] ?? choice[name] ?? message[name] ?? fieldsOf(fields.response_metadata)?.[name],
  );
  const word = said.find((one) => one != null);
  if (word === "STOP" || (fields.status === "completed" && blocks.length > 0)) return "end_turn";
  return stopReasonOf(fieldsOf(word)?.unified ?? word);
}

const SAID = ["stop_reason", "stopReason", "finish_reason", "finishReason", "done_reason"];

/** Blocks that call a tool of the harness. Tools that the provider runs have other types. */
const isCall = (block: ReturnType<typeof fieldsOf>) =>
  /^(tool_use|tool-call|(function|custom_tool|local_shell)_call)$/.test(String(block?.type)) ||
  (block?.functionCall ?? block?.toolUse) !== undefined;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
