import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { MESSAGE_RULES } from "../../packages/guard/src/testing/message-rules.ts";
import {
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";
import { withinWindow } from "../../packages/guard/src/testing/scripted-model/window-rules.ts";
import { editedContext } from "./context-editing.ts";

type Sent = Readonly<Record<string, unknown>>;

/** The model that writes summaries. */
export const SUMMARY_MODEL = "summary";

/** What a strict server saw of a session. Tokens are those of o200k_base. */
export interface ServerTally {
  /** Prompts that it took, and the largest. */
  taken: number;
  peak: number;
  /** Prompt tokens of all calls that it took, those for summaries included. */
  tokens: number;
  /** Prompts that did not begin with the whole prompt before. */
  changed: number;
  /** Tokens of the prompts before, and how many of these the next prompt begins with. */
  before: number;
  reused: number;
  /** Texts of the last prompt that it took. */
  last: string;
}

/** A server of OpenAI and Anthropic that takes only what fits with its answer, and only messages in the right order. */
export interface ComparedServer {
  url: string;
  tally: ServerTally;
  close(): Promise<void>;
}

/** @param window tokens */
export async function startComparedServer(window: number): Promise<ComparedServer> {
  const tally: ServerTally = { taken: 0, peak: 0, tokens: 0, changed: 0, before: 0, reused: 0, last: "" };
  let previous: { key: string; tokens: number }[] = [];

  const take = (messages: readonly Sent[], promptTokens: number) => {
    const now = messages.map((message) => ({ key: JSON.stringify(message), tokens: tokensOf(message) }));
    let same = 0;
    while (same < previous.length && previous[same]!.key === now[same]?.key) same++;
    if (same < previous.length) tally.changed++;
    tally.before += sum(previous);
    tally.reused += sum(previous.slice(0, same));
    tally.taken++;
    tally.tokens += promptTokens;
    tally.peak = Math.max(tally.peak, promptTokens);
    tally.last = messages.map(plain).join("\n");
    previous = now;
  };

  const model: ScriptedModel = await startScriptedModel((request: ModelRequest) => {
    const { api, body } = request;
    const system = body.system === undefined ? [] : [{ role: "system", content: body.system }];
    const beside = [body.tools, ...system].reduce<number>((all, one) => all + tokensOf(one ?? ""), 0);
    const edited = editedContext(body, (messages) => beside + sum(messages.map(sized)));
    const messages = edited?.messages ?? request.messages;
    const promptTokens = beside + sum(messages.map(sized));
    if (request.model === SUMMARY_MODEL) {
      tally.tokens += promptTokens;
      return { text: summaryOf(messages), promptTokens };
    }
    const refused = MESSAGE_RULES[api === "anthropic" ? "anthropic" : "openai"](messages);
    if (refused !== undefined) return { refuse: { status: 400, message: refused } };
    const answer = () => {
      take(messages, promptTokens);
      return { text: "ok", promptTokens, fields: edited?.fields ?? {} };
    };
    return withinWindow(() => window, answer)({ ...request, promptTokens });
  });
  return { url: model.url, tally, close: () => model.close() };
}

const sum = (list: readonly { tokens: number }[]) => list.reduce((all, { tokens }) => all + tokens, 0);
const sized = (message: Sent) => ({ tokens: tokensOf(message) });

/** By text: a session sends the same texts again and again. */
const counts = new Map<string, number>();

/** Tokens of one message with its wrapping. */
function tokensOf(value: unknown): number {
  const text = plain(value);
  let tokens = counts.get(text);
  if (tokens === undefined) {
    tokens = countTokens(text) + 4;
    counts.set(text, tokens);
  }
  return tokens;
}

/** The texts in a value, without the syntax of JSON. */
function plain(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join("\n");
  if (typeof value === "object" && value !== null) return Object.values(value).map(plain).join("\n");
  return value === undefined || value === null ? "" : String(value);
}

/** Longest summary, in characters: about 500 tokens. */
const MOST_SUMMARY_CHARS = 2_000;
/** What a message is quoted with. */
const QUOTED_CHARS = 120;

/** A summary as a model may write it: what the user said, quoted, and then the first lines of the newest results. */
function summaryOf(messages: readonly Sent[]): string {
  const lines = messages.map(plain).join("\n").split("\n");
  const rules = lines.flatMap((line) => /Rule \d+:[^.]*\./.exec(line)?.[0] ?? []);
  const others = lines
    .filter((line) => /^(?:Part|Next|result of)/.test(line))
    .map((line) => line.slice(0, QUOTED_CHARS));
  return [...new Set([...rules, ...others.reverse()])].join("\n").slice(0, MOST_SUMMARY_CHARS);
}
