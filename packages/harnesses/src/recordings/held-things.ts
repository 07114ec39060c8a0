import type { CalledTool, TurnContents } from "@plimsoll/protocol/events";
import { type HeldKind, MOST_HELD } from "@plimsoll/protocol/pure";
import { fitName } from "./text.ts";
import type { ContentItem, ContentKind, HeldItem, WindowContents } from "./transcript-parts.ts";

/** A single thing in a window: a prompt, an answer, or a tool call with its result. */
export type HeldThing = Omit<HeldItem, "kind"> & { kind: HeldKind };

const HELD_KIND: Record<ContentKind, HeldKind> = {
  ...{ system: "system", summary: "summary", user: "user", assistant: "assistant" },
  ...{ attachment: "attachment", deferred_tool: "deferred_tool", tool_definition: "tool_definition" },
  thinking: "thinking",
  ...{ tool_call: "tool", tool_result: "tool" },
};
/** Characters that the protocol takes of a name. */
const LONGEST_TOOL = 128;

/** The largest things in a window, a call and its result as one. */
export function largestThings(items: readonly HeldItem[]): HeldThing[] {
  const found = new Map<unknown, HeldThing>();
  for (const item of items) {
    const key = item.call ?? item;
    const known = found.get(key);
    if (known !== undefined) known.tokens += item.tokens;
    else found.set(key, { ...item, kind: HELD_KIND[item.kind] });
  }
  return [...found.values()]
    .sort((a, b) => b.tokens - a.tokens || a.turn - b.turn)
    .slice(0, MOST_HELD.largest);
}

/** Something that a window holds. */
export type SizedItem = Pick<ContentItem, "kind" | "tool" | "tokens">;

/** Sums by kind and tool, the largest first. */
export function partsOf(items: readonly SizedItem[]): TurnContents["parts"] {
  const parts = new Map<string, TurnContents["parts"][number] & { count: number }>();
  for (const item of items) {
    const kind = HELD_KIND[item.kind];
    const tool = toolOf(item);
    const key = `${kind} ${tool ?? ""}`;
    const part = parts.get(key) ?? { kind, tool, tokens: 0, count: 0 };
    parts.set(key, part);
    part.tokens += item.tokens;
    // The result belongs to its call, and a definition is none.
    if (item.kind !== "tool_result" && item.kind !== "tool_definition") part.count += 1;
  }
  return [...parts.values()].sort((a, b) => b.tokens - a.tokens).slice(0, MOST_HELD.parts);
}

/** What may be sent of a window's contents: sums by kind and tool, the largest things without their files, and which tools were called. */
export function turnContents({ items }: WindowContents, called: CalledTool[] | undefined): TurnContents {
  return {
    parts: partsOf(items),
    largest: largestThings(items).map((thing) => ({
      kind: thing.kind,
      tool: toolOf(thing),
      tokens: thing.tokens,
      at: thing.at,
    })),
    ...(called !== undefined && { called }),
  };
}

const toolOf = ({ tool }: Pick<ContentItem, "tool">) => (tool ? fitName(tool, LONGEST_TOOL) : undefined);
