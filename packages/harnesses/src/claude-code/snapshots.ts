import { larger } from "@plimsoll/fold";
import { STOP_REASONS, type StopReason } from "@plimsoll/protocol/pure";
import type { ClaudeTurn } from "./recording-line.ts";

/** The lines of one message. */
export interface ClaudeMessage {
  /** The first time of all lines. */
  at: number;
  request: string | undefined;
  /** One for each prompt and model that a line has. */
  snapshots: Map<string, Snapshot>;
}

interface Snapshot {
  turn: ClaudeTurn;
  lastAt: number;
}

/**
 * Adds a line of a message. Lines repeat the prompt while the output grows. After a fallback to another model within the message, or
 * a placeholder, they have another prompt, and nothing of both is added up. The result does not depend on the order of the lines.
 */
export function addSnapshot(messages: Map<string, ClaudeMessage>, turn: ClaudeTurn): void {
  const message = messages.get(turn.key);
  if (message === undefined) {
    messages.set(turn.key, {
      at: turn.at,
      request: turn.request,
      snapshots: new Map([[promptKey(turn), { turn, lastAt: turn.at }]]),
    });
    return;
  }
  message.at = Math.min(message.at, turn.at);
  message.request = smaller(message.request, turn.request);
  const key = promptKey(turn);
  const known = message.snapshots.get(key);
  message.snapshots.set(key, known === undefined ? { turn, lastAt: turn.at } : grown(known, turn));
}

/** The turns of some messages, by key. */
export function messageTurns(messages: ReadonlyMap<string, ClaudeMessage>): Map<string, ClaudeTurn> {
  const turns = new Map<string, ClaudeTurn>();
  for (const [key, { at, request, snapshots }] of messages) {
    const [first, ...others] = snapshots.values();
    const last = others.reduce((best, one) => (isLater(one, best) ? one : best), first!);
    turns.set(key, { ...last.turn, at, request });
  }
  return turns;
}

/** A retry of a message has another request id. */
function smaller(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function promptKey({ model, usage }: ClaudeTurn): string {
  const { input_tokens: input, cache_read_tokens: read, cache_write_tokens: write } = usage;
  return JSON.stringify([model, input ?? 0, read ?? 0, write ?? 0]);
}

function grown({ turn, lastAt }: Snapshot, line: ClaudeTurn): Snapshot {
  const output = larger(turn.usage.output_tokens, line.usage.output_tokens);
  const cleared = {
    toolUses: Math.max(turn.cleared.toolUses, line.cleared.toolUses),
    thinkingTurns: Math.max(turn.cleared.thinkingTurns, line.cleared.thinkingTurns),
  };
  return {
    turn: {
      ...turn,
      usage: { ...turn.usage, output_tokens: output },
      isComplete: turn.isComplete || line.isComplete,
      stop: laterReason(turn.stop, line.stop),
      cleared,
      compaction: turn.compaction ?? line.compaction,
    },
    lastAt: Math.max(lastAt, line.at),
  };
}

function laterReason(a: StopReason | undefined, b: StopReason | undefined): StopReason | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return STOP_REASONS.indexOf(a) > STOP_REASONS.indexOf(b) ? a : b;
}

/** Whether a snapshot is more complete than another one, or as complete and later. */
function isLater(one: Snapshot, other: Snapshot): boolean {
  const rank = ({ turn, lastAt }: Snapshot) => [
    completeness(turn),
    lastAt,
    turn.usage.output_tokens ?? 0,
    turn.usage.input_tokens ?? 0,
  ];
  const [a, b] = [rank(one), rank(other)];
  const index = a.findIndex((value, position) => value !== b[position]);
  return index === -1 ? promptKey(one.turn) > promptKey(other.turn) : a[index]! > b[index]!;
}

/** Older versions never write why an answer ended; a line from the start of a stream has at most one token of it. */
const completeness = ({ isComplete, usage }: ClaudeTurn) =>
  isComplete ? 2 : (usage.output_tokens ?? 0) > 1 ? 1 : 0;
