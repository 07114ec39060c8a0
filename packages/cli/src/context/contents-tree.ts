import type { ContentItem, ContentKind, HeldItem, WindowContents } from "@plimsoll/harnesses/recordings";

/** A part of what a window holds. */
export interface ContentPart {
  name: string;
  tokens: number;
  /** How many prompts, answers or calls it has. Undefined for what the recording does not show. */
  count: number | undefined;
  parts: ContentPart[];
}

/** A single thing in a window. */
export interface LargeItem {
  name: string;
  tokens: number;
  /** The turn that was sent it first, counted from 1. */
  turn: number;
}

const MOST_LARGE = 10;
const TOOLS = "tools";

const KIND_NAMES: Record<ContentKind, string> = {
  system: "instructions",
  summary: "summary of what was compacted",
  user: "prompts and notices",
  assistant: "answers",
  tool_call: TOOLS,
  tool_result: TOOLS,
};
const REST = "not in the recording: tool definitions, system prompt, thinking, images";
const MCP_TOOL = /^mcp__(.+?)__(.+)$/;

/** What a window holds by kind, tools by name, those of an MCP server together. The largest parts come first. */
export function contentsTree({ items, rest }: WindowContents): ContentPart[] {
  const parts: ContentPart[] = [];
  for (const item of items) {
    let level = parts;
    for (const name of placeOf(item)) {
      let part = level.find((one) => one.name === name);
      if (part === undefined) {
        part = { name, tokens: 0, count: 0, parts: [] };
        level.push(part);
      }
      part.tokens += item.tokens;
      // The result belongs to its call.
      if (item.kind !== "tool_result") part.count! += 1;
      level = part.parts;
    }
  }
  if (rest > 0) parts.push({ name: REST, tokens: rest, count: undefined, parts: [] });
  return sorted(parts);
}

/** The largest things in a window, a call and its result as one. */
export function largestItems({ items }: WindowContents): LargeItem[] {
  const found = new Map<unknown, LargeItem>();
  for (const item of items) {
    const key = item.call ?? item;
    const known = found.get(key);
    if (known !== undefined) known.tokens += item.tokens;
    else found.set(key, { name: nameOf(item), tokens: item.tokens, turn: item.turn });
  }
  return [...found.values()].sort((a, b) => b.tokens - a.tokens || a.turn - b.turn).slice(0, MOST_LARGE);
}

function placeOf({ kind, tool }: ContentItem): string[] {
  const name = KIND_NAMES[kind];
  if (name !== TOOLS) return [name];
  const [, server, own] = MCP_TOOL.exec(tool ?? "") ?? [];
  return server === undefined ? [TOOLS, tool || "unknown"] : [TOOLS, `MCP server ${server}`, own!];
}

function nameOf({ kind, tool, file }: HeldItem): string {
  const name = tool ?? KIND_NAMES[kind];
  return file === undefined ? name : `${name} ${file}`;
}

const sorted = (parts: readonly ContentPart[]): ContentPart[] =>
  parts
    .map((part) => ({ ...part, parts: sorted(part.parts) }))
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
