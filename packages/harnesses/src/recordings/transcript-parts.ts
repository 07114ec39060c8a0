import { estimateTokens } from "@plimsoll/guard/measure";
import type { Composition } from "@plimsoll/protocol/events";
import type { CompactionLoss } from "./compaction-loss.ts";
import { asObject, asText } from "./json.ts";

/** What a part of the context is. */
export const CONTENT_KINDS = [
  "system",
  "tool_definition",
  "deferred_tool",
  "summary",
  "user",
  "attachment",
  "assistant",
  "thinking",
  "tool_call",
  "tool_result",
] as const;
export type ContentKind = (typeof CONTENT_KINDS)[number];

export interface ContentItem {
  kind: ContentKind;
  /** As the guard estimates them. */
  tokens: number;
  /** The id of the tool call that it is, or that it is the result of. */
  call?: string | undefined;
  tool?: string | undefined;
  /** The file that the call is about. It stays on its machine. */
  file?: string | undefined;
  /** Of a prompt or a summary. It stays on its machine, too. */
  text?: string | undefined;
}

/** Longer prompts are pasted texts, which are not kept. Characters. */
export const LONGEST_PROMPT = 20_000;

/** What one line of a transcript adds to the context. */
export interface LineParts {
  at: number;
  items: readonly ContentItem[];
}

/** A point at which the context begins anew, or at which tool output was cleared from it. */
export interface PartsReset {
  at: number;
  /** Tokens of tool output that were cleared; undefined if everything was. */
  cleared?: number | undefined;
  /** The recording repeats what is sent from then on, and nothing was compacted. */
  isRepeated?: true;
}

export interface TurnLevel {
  key: string;
  at: number;
  /** Context tokens. */
  level: number;
  /** Tokens of the model per estimated token. */
  scale: number;
}

/** What filled and emptied the window of one agent, in any order. */
export interface Filling {
  turns: readonly TurnLevel[];
  lines: readonly LineParts[];
  resets: readonly PartsReset[];
}

/** What the window of one agent holds. */
export interface AgentContents extends WindowContents {
  /** As the harness names it. */
  session: string;
  /** Undefined for the main agent. */
  agent: string | undefined;
  model: string;
  /** What the latest compaction left; undefined if the recording does not show it. */
  loss: CompactionLoss | undefined;
}

/** Estimates are left out if they explain less than this share of the level: the transcript begins in the middle. */
const LEAST_SHARE = 0.01;

type Parts = Pick<Composition, "system" | "tools" | "history" | "tool_output">;

const PART_OF: Record<ContentKind, keyof Parts> = {
  ...{ system: "system", tool_definition: "tools", summary: "history", user: "history" },
  ...{ assistant: "history", thinking: "history", attachment: "history", deferred_tool: "history" },
  ...{ tool_call: "history", tool_result: "tool_output" },
};

/** What a compaction leaves, because it is sent beside the conversation. */
const isBeside = ({ kind }: Pick<ContentItem, "kind">) => kind === "system" || kind === "tool_definition";

/** The next prompt ends a run. Not every provider keeps the thinking of earlier runs, but all keep that of the latest. */
const endsRun = (items: readonly Pick<ContentItem, "kind">[]) => items.some(({ kind }) => kind === "user");

/** A prompt without the thinking of earlier runs. */
export const withoutEarlierThinking = <Item extends Pick<ContentItem, "kind">>(
  items: readonly Item[],
): Item[] => {
  const latest = items.findLastIndex(({ kind }) => kind === "user");
  return items.filter(({ kind }, index) => kind !== "thinking" || index > latest);
};

/**
 * What fills the window at each turn, estimated from the lines of the transcript before it. The parts never add up to
 * more than the level; what the transcript does not show, such as tool definitions, is in none of them.
 */
export function partsAtTurns({ turns, lines, resets }: Filling): Map<string, Parts> {
  const steps = inOrder({ lines, resets });
  const found = new Map<string, Parts>();
  const sums = { system: 0, tools: 0, history: 0, tool_output: 0 };
  /** Of `history`, what the next prompt takes out. */
  let thinking = 0;
  let next = 0;
  for (const { key, at, level, scale } of [...turns].sort((a, b) => a.at - b.at)) {
    for (let step = steps[next]; step !== undefined && step.at < at; step = steps[++next]) {
      if (step.line !== undefined) {
        if (endsRun(step.line.items)) {
          sums.history -= thinking;
          thinking = 0;
        }
        for (const { kind, tokens } of step.line.items) {
          sums[PART_OF[kind]] += tokens;
          if (kind === "thinking") thinking += tokens;
        }
      } else if (step.reset.cleared !== undefined) {
        sums.tool_output = Math.max(0, sums.tool_output - step.reset.cleared / scale);
      } else {
        sums.history = 0;
        sums.tool_output = 0;
        thinking = 0;
      }
    }
    const factor = scaleTo(level, sums.system + sums.tools + sums.history + sums.tool_output, scale);
    if (factor === undefined) continue;
    const scaled = (sum: number) => Math.floor(sum * factor);
    found.set(key, {
      ...{ system: scaled(sums.system) || undefined, tools: scaled(sums.tools) || undefined },
      ...{ history: scaled(sums.history), tool_output: scaled(sums.tool_output) },
    });
  }
  return found;
}

/** A part of the context, in tokens of the model. */
export interface HeldItem extends ContentItem {
  /** The turn that was sent it first, counted from 1, and when that was: epoch ms. */
  turn: number;
  at: number;
}

/** What the window of an agent holds at its latest turn. */
export interface WindowContents {
  /** Of the latest turn, counted from 1, and when it was: epoch ms. */
  turn: number;
  at: number;
  /** Context tokens. Of these, `rest` are in no item, because the transcript does not show them. */
  level: number;
  rest: number;
  items: HeldItem[];
  /**
   * Estimated tokens that entered the context after that prompt: the answer of the turn, and what followed it. Undefined if the
   * context was reset since. `calls` began since and are not counted; absent where a call is counted before its tools run.
   */
  since: { answer: number; added: number; calls?: number } | undefined;
  /** Every result of a tool so far, those that are no longer in the window too. */
  results: readonly Pick<ContentItem, "tool" | "tokens">[];
}

/** Without items where the transcript does not tell. @returns undefined without a turn */
export function windowContents({ turns, lines, resets }: Filling): WindowContents | undefined {
  const times = turns.map(({ at }) => at).sort((a, b) => a - b);
  const last = turns.find(({ at }) => at === times.at(-1));
  if (last === undefined) return undefined;
  const calls = new Map(
    lines.flatMap(({ items }) =>
      items.flatMap((item) => (item.kind === "tool_call" ? [[item.call, item]] : [])),
    ),
  );
  let held: HeldItem[] = [];
  let thinking: HeldItem[] = [];
  let turn = 1;
  const steps = inOrder({ lines, resets });
  const isWhole = ({ at, reset }: (typeof steps)[number]) =>
    reset !== undefined && reset.cleared === undefined && at < last.at;
  const begin = steps.findLastIndex(isWhole);
  for (const [index, step] of steps.entries()) {
    if (step.at >= last.at) break;
    while (times[turn - 1]! <= step.at) turn += 1;
    if (step.line !== undefined) {
      if (endsRun(step.line.items)) thinking = [];
      for (const item of step.line.items) {
        // The reset takes it out again.
        if (index < begin && !isBeside(item)) continue;
        const { tool, file } = (item.call === undefined ? undefined : calls.get(item.call)) ?? item;
        const into = item.kind === "thinking" ? thinking : held;
        into.push({ ...item, tool, file, turn, at: times[turn - 1]! });
      }
    } else if (step.reset.cleared === undefined) {
      held = held.filter(isBeside);
      thinking = [];
    } else {
      held = withoutOldest(held, step.reset.cleared / last.scale);
    }
  }
  const items = scaledItems([...held, ...thinking], last) ?? [];
  const rest = last.level - sumOf(items);
  const results = steps.flatMap(({ line }) =>
    (line?.items ?? []).flatMap((item) =>
      item.kind === "tool_result"
        ? [{ tool: (calls.get(item.call) ?? item).tool, tokens: Math.ceil(item.tokens * last.scale) }]
        : [],
    ),
  );
  const since = sinceTurn(steps, last);
  return { turn: times.length, at: last.at, level: last.level, rest, items, since, results };
}

/** Whether the model wrote it. */
export const isWritten = ({ kind }: Pick<ContentItem, "kind">): boolean =>
  kind === "assistant" || kind === "tool_call" || kind === "thinking";

function sinceTurn(steps: ReturnType<typeof inOrder>, { at, scale }: TurnLevel): WindowContents["since"] {
  const sums = { answer: 0, added: 0 };
  for (const step of steps) {
    if (step.at < at) continue;
    if (step.line === undefined) return undefined;
    for (const { kind, tokens } of step.line.items)
      sums[isWritten({ kind }) ? "answer" : "added"] += tokens * scale;
  }
  return { answer: Math.ceil(sums.answer), added: Math.ceil(sums.added) };
}

const sumOf = (items: readonly Pick<ContentItem, "tokens">[]) =>
  items.reduce((sum, { tokens }) => sum + tokens, 0);

/** Tool output is cleared from the oldest on. */
function withoutOldest(held: readonly HeldItem[], cleared: number): HeldItem[] {
  let left = cleared;
  return held.flatMap((item) => {
    if (item.kind !== "tool_result" || left <= 0) return [item];
    const tokens = item.tokens - left;
    left -= item.tokens;
    return tokens <= 0 ? [] : [{ ...item, tokens }];
  });
}

/** Lines and resets in order. At the same time, the reset is first. */
export function inOrder({ lines, resets }: Pick<Filling, "lines" | "resets">) {
  return [
    ...lines.map((line) => ({ at: line.at, line, reset: undefined })),
    ...resets.map((reset) => ({ at: reset.at, line: undefined, reset })),
  ].sort((a, b) => a.at - b.at || Number(a.line !== undefined) - Number(b.line !== undefined));
}

/**
 * Tokens of a level per estimated token. Estimates that exceed the count are scaled down to it.
 * @returns undefined if they explain too little of it
 */
function scaleTo(level: number, estimated: number, scale: number): number | undefined {
  const total = estimated * scale;
  if (level <= 0 || total < level * LEAST_SHARE) return undefined;
  return total > level ? (level / total) * scale : scale;
}

/**
 * Estimated items in tokens of the model. They never add up to more than the level.
 * @returns undefined if they explain too little of it
 */
export function scaledItems<Item extends Pick<ContentItem, "tokens">>(
  items: readonly Item[],
  { level, scale }: Pick<TurnLevel, "level" | "scale">,
): Item[] | undefined {
  const factor = scaleTo(level, sumOf(items), scale);
  if (factor === undefined) return undefined;
  return items.map((item) => ({ ...item, tokens: Math.floor(item.tokens * factor) }));
}

/** Estimated tokens of a content block's text, whatever its shape: a string, blocks with text, or any JSON. */
export function textTokens(content: unknown): number {
  if (content === undefined || content === null) return 0;
  if (typeof content === "string") return estimateTokens(content);
  if (Array.isArray(content)) return content.reduce((sum: number, one) => sum + textTokens(one), 0);
  const block = asObject(content);
  if (block === undefined) return 0;
  // The data of an image is no text.
  if (/image|document|audio/.test(asText(block.type) ?? "")) return 0;
  const text = asText(block.text);
  if (text !== undefined) return estimateTokens(text);
  return block.type === "text" || "text" in block ? 0 : estimateTokens(JSON.stringify(block));
}
