import { type HeldKind, mcpServerOf } from "@plimsoll/protocol/pure";
import { type HeldThing, largestThings } from "./held-things.ts";
import type { ContentItem, ContentKind, WindowContents } from "./transcript-parts.ts";

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

const TOOLS = "tools";

const KIND_NAMES: Record<ContentKind | HeldKind, string> = {
  system: "instructions",
  summary: "summary of what was compacted",
  user: "prompts and notices",
  attachment: "attachments: files, memory, lists of skills and agents",
  deferred_tool: "names of deferred tools",
  assistant: "answers",
  thinking: "thinking since the latest prompt",
  tool: TOOLS,
  tool_definition: "tool definitions",
  tool_call: TOOLS,
  tool_result: TOOLS,
};
const REST = "not in the recording: tool definitions, system prompt, earlier thinking, images";

/** Something in a window, or all things of a kind and a tool. */
type HeldPart = Pick<ContentItem, "tool" | "tokens"> & { kind: ContentKind | HeldKind };

/** What a window holds by kind, tools by name, those of an MCP server together. The largest parts come first. */
export function contentsTree({ items, rest }: { items: readonly HeldPart[]; rest: number }): ContentPart[] {
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
export const largestItems = ({ items }: WindowContents): LargeItem[] =>
  largestThings(items).map((thing) => ({ name: thingName(thing), tokens: thing.tokens, turn: thing.turn }));

function placeOf({ kind, tool }: HeldPart): string[] {
  const name = KIND_NAMES[kind];
  if (name !== TOOLS && kind !== "tool_definition") return [name];
  const server = mcpServerOf(tool ?? "");
  return server === undefined
    ? [name, tool || "unknown"]
    : [name, `MCP server ${server}`, tool!.slice(`mcp__${server}__`.length)];
}

export function thingName({ kind, tool, file }: Pick<HeldThing, "kind" | "tool" | "file">): string {
  if (kind === "tool_definition" && tool !== undefined) return `definition of ${tool}`;
  const name = tool ?? KIND_NAMES[kind];
  return file === undefined ? name : `${name} ${file}`;
}

const sorted = (parts: readonly ContentPart[]): ContentPart[] =>
  parts
    .map((part) => ({ ...part, parts: sorted(part.parts) }))
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
