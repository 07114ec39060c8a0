import { type HeldKind, MOST_HELD, type TurnContents } from "@plimsoll/protocol/pure";
import type { NamedSize } from "../measure/besides.ts";
import type { GuardState, Mask } from "../state/state.ts";
import type { MessageHistory } from "./history.ts";

/** Estimated tokens of what is sent beside the messages, and of the text that replaces what was cut. */
export interface SizesBeside {
  definitions: readonly NamedSize[];
  instructions: number;
  head: number;
}

/** Tokens per estimated token. Estimates that exceed the count are scaled down to it. */
export function scaleTo({ sent = 0, calibration: { slope } }: GuardState, level: number): number {
  return sent * slope > level ? level / sent : slope;
}

type Part = { kind: HeldKind; tool?: string; tokens: number; count: number };

/** What a level holds, by kind and tool, without a text. The parts never exceed it; what no estimate explains is in none. */
export function contentsOf<M>(
  { entries, pinned }: MessageHistory<M>,
  state: GuardState,
  masks: ReadonlyMap<string, Mask>,
  level: number,
  beside: SizesBeside,
): TurnContents {
  const sums = new Map<HeldKind, Map<string | undefined, Part>>();
  const add = (kind: HeldKind, tokens: number, count: number, tool?: string) => {
    if (tokens === 0 && count === 0) return;
    const ofKind = sums.get(kind) ?? new Map<string | undefined, Part>();
    sums.set(kind, ofKind);
    const sum = ofKind.get(tool) ?? {
      kind,
      ...(tool !== undefined && { tool: nameOf(tool) }),
      tokens: 0,
      count: 0,
    };
    ofKind.set(tool, sum);
    sum.tokens += tokens;
    sum.count += count;
  };
  for (const { name, tokens } of beside.definitions)
    tokens > 0 ? add("tool_definition", tokens, 0, name) : add("deferred_tool", 0, 1);
  add("system", beside.instructions, 0);
  add("summary", beside.head, beside.head > 0 ? 1 : 0);
  const from = Math.max(state.cut?.at ?? 0, pinned);
  for (const [index, entry] of entries.entries()) {
    if (index >= pinned && index < from) continue;
    for (const { tool, tokens, mark } of entry.results)
      add("tool", tokens - (masks.get(mark)?.saved ?? 0), 0, tool);
    for (const [place, { kind, tool = "tool" }] of entry.read.parts.entries()) {
      const tokens = entry.read.tokens[place]!;
      if (kind === "call") add("tool", tokens, 1, tool);
      else if (kind !== "result") add(kind, tokens, 1);
    }
    if (masks.size === 0) continue;
    for (const { tool, mark } of entry.inputs) add("tool", -(masks.get(mark)?.saved ?? 0), 0, tool);
    for (const { tool, mark } of entry.longTexts)
      add(tool === "user" ? "user" : "assistant", -(masks.get(mark)?.saved ?? 0), 0);
  }
  const scale = scaleTo(state, level);
  const parts = [...sums.values()]
    .flatMap((ofKind) => [...ofKind.values()])
    .map(({ count, ...part }) => ({
      ...part,
      tokens: Math.max(0, Math.floor(part.tokens * scale)),
      ...(count > 0 && { count }),
    }))
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, MOST_HELD.parts);
  return { parts, largest: [] };
}

/** A name that the server takes. */
const nameOf = (tool: string) => tool.slice(0, 128).replace(/[\0\p{Cs}]/gu, "") || "tool";
