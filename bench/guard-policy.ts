import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Conversation } from "../packages/guard/src/conversation/index.ts";
import { fit as fitted, type Message, type PolicyInput } from "../packages/guard/src/index.ts";
import { estimateTokens } from "../packages/guard/src/measure/index.ts";
import { optimistic } from "../packages/guard/src/watcher/index.ts";
import type { BenchGroup } from "./measurement.ts";

/** One turn of an agent: an optional user message before it, the agent's text, and its tool call. */
interface SessionTurn {
  user?: string;
  said: string;
  tool?: { name: string; input: unknown; output: string };
}

/** A session to run a policy over. */
export interface PolicySession {
  name: string;
  /** Tokens. */
  windowTokens: number;
  system: string;
  turns: readonly SessionTurn[];
}

/** What a policy did to a session. */
export interface PolicyCost {
  turns: number;
  /** Maskings, summaries and restarts per 100 turns. */
  actions: number;
  maskings: number;
  summaries: number;
  restarts: number;
  /** The fewest actions possible: each would empty a full window. Per 100 turns. */
  least: number;
  /** Prompt tokens of all calls, as the provider counted them. */
  sent: number;
  /** Prompt tokens of all calls that were not sent, as a fraction of those of the unguarded session. */
  saved: number;
  /** How much of each prompt is the beginning of the next one, as a fraction of its tokens: what a cache can reuse. */
  prefixKept: number;
  /** Messages of the user that are in the last prompt word for word, as a fraction. */
  wordsKept: number;
  /** Prompts that did not fit into the window. */
  overWindow: number;
}

/** Tokens that the provider adds for tool definitions, and how many tokens it counts for one that is estimated. */
const OVERHEAD = 3_000;
const SLOPE = 1.1;

/** Numbers from 0 to 1, always the same for a seed. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

const LINE = "  const total = await compute(left, right, { retries: 3, signal }); // see the caller\n";

/** A file or a log of about `tokens` tokens. */
function textOf(tokens: number, name: string): string {
  const lines = Math.max(1, Math.round(tokens / estimateTokens(LINE)));
  return `// ${name}\n${LINE.repeat(lines)}`;
}

/**
 * A coding agent at work: it reads files, searches, edits and runs tests. Every 20 turns or so its user says something
 * that must stay true, such as "never edit the lockfile".
 */
export function codingSession(windowTokens: number, turns: number, seed = 7): PolicySession {
  const next = numbers(seed);
  const list: SessionTurn[] = [];
  for (let at = 0; at < turns; at++) {
    const kind = next();
    const file = `src/part${Math.floor(next() * 90)}.ts`;
    const size = next();
    const tool =
      kind < 0.45
        ? { name: "read", input: { path: file }, output: textOf(300 + size * size * 5_000, file) }
        : kind < 0.6
          ? { name: "grep", input: { pattern: `use${at}` }, output: textOf(100 + size * 900, "matches") }
          : kind < 0.8
            ? { name: "edit", input: { path: file, text: textOf(80 + size * 300, file) }, output: "ok" }
            : { name: "bash", input: { command: "npm test" }, output: textOf(200 + size * 2_500, "tests") };
    const user =
      at === 0
        ? "Rewrite the parser so that it keeps comments. All tests must pass."
        : at % 20 === 2
          ? `Rule ${at}: never edit file ${at} of the generated folder, and tell me when part ${at} is done.`
          : undefined;
    list.push({ ...(user && { user }), said: `I look at ${file} next, because of step ${at}.`, tool });
  }
  return {
    name: `coding-${windowTokens / 1_000}k`,
    windowTokens,
    system: `You write TypeScript.\n${textOf(Math.min(4_000, windowTokens * 0.1), "rules")}`,
    turns: list,
  };
}

interface AgentdEvent {
  event?: string;
  prompt_preview?: string;
  response?: { content?: string; tool_calls?: { name?: string; arguments?: unknown }[] };
  command?: string;
  result?: { stdout?: string; stderr?: string };
}

const FIXTURES = new URL("../../shared/fixtures/agentd/", import.meta.url);

/** The recorded runs, as they would be without the recording harness' own collections. Empty where they are absent. */
export function recordedSessions(): PolicySession[] {
  if (!existsSync(FIXTURES)) return [];
  const files = readdirSync(fileURLToPath(FIXTURES)).filter((name) => name.endsWith(".jsonl"));
  return files.flatMap((file) => {
    const [first, ...rest] = readFileSync(new URL(file, FIXTURES), "utf8").trim().split("\n");
    const events = rest.map((line) => (JSON.parse(line) as { event: AgentdEvent }).event);
    const turns: SessionTurn[] = [];
    for (const { event, response, command, result, prompt_preview } of events) {
      if (event === "InferCall" && turns.length === 0 && prompt_preview !== undefined)
        turns.push({ user: prompt_preview, said: "" });
      if (event === "InferResult" && response !== undefined) turns.push({ said: response.content ?? "" });
      const last = turns.at(-1);
      if (event === "EvalResult" && last !== undefined)
        turns[turns.length - 1] = {
          ...last,
          tool: {
            name: "shell",
            input: { command },
            output: `${result?.stdout ?? ""}${result?.stderr ?? ""}`,
          },
        };
    }
    const [asked, ...steps] = turns;
    const { context_budget } = (JSON.parse(first!) as { meta: { context_budget?: number } }).meta;
    if (context_budget === undefined) return [];
    return {
      name: `recorded-${file.replace(".jsonl", "")}`,
      windowTokens: context_budget,
      system: "You are a software agent.",
      turns: steps.map((turn, at) => (at === 0 && asked?.user ? { ...turn, user: asked.user } : turn)),
    };
  });
}

const sizeOf = (message: Message) =>
  4 +
  estimateTokens(message.content) +
  (message.toolCalls ?? []).reduce((sum, call) => sum + estimateTokens(JSON.stringify(call.arguments)), 0);

/** Most messages of a prompt are the objects of the prompt before. */
const isSame = (one: Message | undefined, other: Message | undefined) =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/**
 * Runs a session under a policy, with a summariser that writes as much as it may.
 * @param ahead whether edits are prepared in the background. All of them are ready by the next call
 */
export async function policyCost(
  { windowTokens, system, turns }: PolicySession,
  policy: PolicyInput = {},
  ahead = false,
): Promise<PolicyCost> {
  const did = { masked: 0, compacted: 0, restarted: 0 };
  const overhead = Math.min(OVERHEAD, windowTokens * 0.05);
  const guard = new Conversation<Message>({
    identity: { harness: "bench", session: "s" },
    window: windowTokens,
    policy,
    onEvent: ({ type }) => {
      if (type in did) did[type as keyof typeof did]++;
    },
    onWarning: () => {},
  });
  const summarize = ({ maxChars }: { maxChars: number }) =>
    "What was done, file by file. ".repeat(200).slice(0, maxChars);
  const prepared = ahead ? optimistic(guard, { summarize }) : undefined;
  const history: Message[] = [{ role: "system", content: system }];
  const sizes = new Map<Message, number>();
  const size = (message: Message) => {
    const known = sizes.get(message) ?? sizeOf(message);
    sizes.set(message, known);
    return known;
  };
  let whole = 0;
  let unguarded = 0;
  let sent = 0;
  let kept = 0;
  let reusable = 0;
  let overWindow = 0;
  let previous: readonly Message[] = [];
  let view: readonly Message[] = [];
  for (const [at, turn] of turns.entries()) {
    if (turn.user !== undefined) history.push({ role: "user", content: turn.user });
    view = (await fitted(guard, history, { summarize })).messages;
    const tokens = Math.round(overhead + SLOPE * view.reduce((sum, message) => sum + size(message), 0));
    if (tokens > windowTokens) overWindow++;
    whole = overhead + SLOPE * history.reduce((sum, message) => sum + size(message), 0);
    unguarded += whole;
    sent += tokens;
    let same = 0;
    while (same < previous.length && isSame(previous[same], view[same])) same++;
    kept += previous.slice(0, same).reduce((sum, message) => sum + size(message), 0);
    reusable += previous.reduce((sum, message) => sum + size(message), 0);
    previous = view;
    guard.observe({ id: `t${at}`, usage: { prompt_tokens: tokens, completion_tokens: 150 } });
    await prepared?.settled();
    const id = `call-${at}`;
    history.push({
      role: "assistant",
      content: turn.said,
      ...(turn.tool && { toolCalls: [{ id, name: turn.tool.name, arguments: turn.tool.input }] }),
    });
    if (turn.tool !== undefined)
      history.push({ role: "tool", toolCallId: id, toolName: turn.tool.name, content: turn.tool.output });
  }
  const said = turns.flatMap(({ user }) => user ?? []);
  const last = view.map(({ content }) => content).join("\n");
  const per100 = (count: number) => (count / turns.length) * 100;
  return {
    turns: turns.length,
    actions: per100(did.masked + did.compacted + did.restarted),
    maskings: did.masked,
    summaries: did.compacted,
    restarts: did.restarted,
    least: per100(Math.max(0, Math.ceil(whole / windowTokens) - 1)),
    sent,
    saved: unguarded === 0 ? 0 : Math.max(0, 1 - sent / unguarded),
    prefixKept: reusable === 0 ? 1 : kept / reusable,
    wordsKept: said.length === 0 ? 1 : said.filter((text) => last.includes(text)).length / said.length,
    overWindow,
  };
}

/** Windows of the synthetic session, in tokens. */
const WINDOWS = [16_000, 32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000];
const TURNS = 400;

/** What the default policy costs, without a server: one row a session, and one with edits that are prepared before the line. */
export const guardPolicy: BenchGroup = {
  names: ["guard.policy"],
  async *run({ note }) {
    const sessions = [
      ...WINDOWS.map((windowTokens) => codingSession(windowTokens, TURNS)),
      ...recordedSessions(),
    ];
    for (const [session, ahead] of sessions.flatMap((one) => [[one, false] as const, [one, true] as const])) {
      const name = `guard.policy.${session.name}${ahead ? ".optimistic" : ""}`;
      note(`${name} ...`);
      const {
        actions,
        least,
        turns,
        maskings,
        summaries,
        restarts,
        sent,
        saved,
        prefixKept,
        wordsKept,
        overWindow,
      } = await policyCost(session, {}, ahead);
      yield {
        name,
        value: Number(actions.toFixed(1)),
        unit: "actions/100 turns",
        least: Number(least.toFixed(1)),
        turns,
        maskings,
        summaries,
        restarts,
        "tokens sent": sent,
        "tokens saved": percentOf(saved),
        "prefix kept": percentOf(prefixKept),
        "user's words kept": percentOf(wordsKept),
        "over the window": overWindow,
      };
    }
  },
};

const percentOf = (fraction: number) => `${Math.round(fraction * 100)} %`;
