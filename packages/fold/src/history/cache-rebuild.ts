import type { BoundaryType, RebuildCause } from "@plimsoll/protocol/pure";
import type { AgentState } from "./agent-state.ts";
import type { TurnFacts } from "./turn.ts";
import { hourWrite } from "./usage.ts";

/** A turn whose prompt the provider's cache should have had, and had not. */
export interface CacheRebuild {
  cause: RebuildCause;
  /** Tokens that a cache had for the turn before, that this prompt still has, and that were not read from a cache. */
  tokens: number;
}

/** What the cache should have for the next turn of an agent. */
export interface CachedPrompt {
  /** Of the latest prompt: read from a cache or written to one. */
  tokens: number;
  /** Of the shortest prompt of the window: below it are tools, instructions and the first message. */
  shortest: number;
  /** The longest time between two turns after which the cache was still there, ms. */
  survived: number;
  /** Of `tokens`, the first ones that the provider keeps for an hour. Undefined while no turn says for how long it keeps what it wrote. */
  hour: number | undefined;
}

/** Providers cache nothing shorter. */
const LEAST_TOKENS = 1_024;
/** Cached reads vary a little: caches are kept in blocks, and the end of a prompt may be sent differently. */
const LEAST_SHARE = 0.1;
/** What Anthropic and OpenAI keep a cache for at least, from its last use. */
export const SHORTEST_LIFE_MS = 300_000;
/** What Anthropic and Bedrock keep a cache for on request, from its last use. */
export const LONGEST_LIFE_MS = 3_600_000;

/** What a provider's cache has of an agent's prompt. */
export interface CacheLife {
  /** Tokens that live until `coldAt`. */
  tokens: number;
  /** Until then the cache is there, unless the provider gives it up early. Epoch ms by the clock of the harness. */
  coldAt: number;
}

/**
 * How long the larger part of a cache lives without another call. Undefined if nothing worth it is cached, and after a boundary: the next
 * prompt is another one.
 */
export function cacheLife({
  cached,
  lastTurnAt,
  pending,
}: Pick<AgentState, "cached" | "lastTurnAt" | "pending">): CacheLife | undefined {
  if (cached === undefined || lastTurnAt === undefined || pending.length > 0) return undefined;
  if (cached.tokens < LEAST_TOKENS) return undefined;
  const { tokens, hour = 0 } = cached;
  return hour > tokens / 2
    ? { tokens: hour, coldAt: lastTurnAt + LONGEST_LIFE_MS }
    : { tokens, coldAt: lastTurnAt + lifeAt(cached, tokens) };
}

/** How long a token of the prompt lives, ms. Without a word of the provider, five minutes, or the longest pause that the cache outlived. */
function lifeAt({ hour, survived }: CachedPrompt, position: number): number {
  if (hour === undefined) return Math.max(SHORTEST_LIFE_MS, survived);
  return position < hour ? LONGEST_LIFE_MS : SHORTEST_LIFE_MS;
}

const CAUSE_OF_FALL: Readonly<Record<BoundaryType, RebuildCause>> = {
  masked: "masked",
  compacted: "compacted",
  subtick: "new_window",
  restarted: "new_window",
  cleared: "new_window",
  unexplained: "unexplained_fall",
};

/** Whether a fall or a pause cost the cache: there, nothing in the prompt has to be changed. */
export const isExplained = (cause: RebuildCause): boolean =>
  cause === "idle" || Object.values(CAUSE_OF_FALL).includes(cause);

export interface TurnInCache {
  turn: Pick<TurnFacts, "usage" | "estimated">;
  contextTokens: number;
  /** Since the call before, ms. Undefined for the first call. */
  idle: number | undefined;
  /** What brought the level down, or moved the agent to another window, before the turn. */
  fall: BoundaryType | undefined;
  modelChanged: boolean;
}

/** Whether a turn had to rebuild the cache, and the likely cause. Undefined too if the turn does not count cached reads. */
export function cacheRebuild(
  before: CachedPrompt | undefined,
  { turn, contextTokens, idle = 0, fall, modelChanged }: TurnInCache,
): CacheRebuild | undefined {
  const { cache_read_tokens: read, cache_write_tokens: written } = turn.usage;
  if (before === undefined || read === undefined || turn.estimated) return undefined;
  const kept = Math.min(before.tokens, contextTokens);
  const tokens = kept - read;
  if (tokens <= Math.max(LEAST_TOKENS, kept * LEAST_SHARE)) return undefined;
  return { tokens, cause: causeOf() };

  function causeOf(): RebuildCause {
    if (fall !== undefined) return CAUSE_OF_FALL[fall];
    if (modelChanged) return "model_changed";
    // The first token that was not read is the first that was lost.
    if (idle > lifeAt(before!, read!)) return "idle";
    // A cache that is written on request is there when it is asked for again; others come and go.
    if (read === 0) return written ? "tools_or_system" : "unknown";
    return read! < before!.shortest ? "tools_or_system" : "edited";
  }
}

/** What a cache should have after a turn. Undefined if the turn does not say what it read from one. */
export function cachedAfter(
  before: CachedPrompt | undefined,
  rebuild: CacheRebuild | undefined,
  { turn, contextTokens, idle = 0, fall, modelChanged }: TurnInCache,
): CachedPrompt | undefined {
  const { cache_read_tokens: read, cache_write_tokens: written = 0 } = turn.usage;
  if (read === undefined || turn.estimated) return undefined;
  const isNewWindow = fall !== undefined && CAUSE_OF_FALL[fall] === "new_window";
  const { shortest, survived } = before ?? { shortest: contextTokens, survived: 0 };
  return {
    tokens: read + written,
    shortest: isNewWindow ? contextTokens : Math.min(shortest, contextTokens),
    survived:
      rebuild === undefined && before !== undefined && before.tokens >= LEAST_TOKENS
        ? Math.max(survived, idle)
        : survived,
    hour: hourAfter(modelChanged ? undefined : before?.hour, turn),
  };
}

/**
 * The tokens that live an hour after a turn. Providers put what lives longer first, and reading renews the life of what is read.
 * @param before of the turn before
 */
function hourAfter(before: number | undefined, { usage }: Pick<TurnFacts, "usage">): number | undefined {
  const { cache_read_tokens: read = 0, cache_write_tokens: written = 0 } = usage;
  const hour = hourWrite(usage);
  if (hour) return read + hour;
  const kept = before === undefined ? undefined : Math.min(before, read);
  if (written === 0) return kept;
  // What was written for an unknown time comes after what was read. Unless that lives an hour, nothing is known of the cache.
  return hour === undefined ? kept || undefined : (kept ?? 0);
}
