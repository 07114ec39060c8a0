import { type CacheLife, forecast, quotaName } from "@plimsoll/fold";
import type { QuotaReading } from "@plimsoll/harnesses/quota";
import type { StatusSample } from "@plimsoll/harnesses/status-line";
import { ahead, percent, tokens } from "../number-format.ts";
import { type Paint, painter } from "../terminal.ts";
import type { SessionMemory } from "./session-memory.ts";

/** Load from which the level is shown in yellow, and in red. */
const CLOSE = 0.8;
const AT_LINE = 1;

/**
 * One line for a harness' status line: the level against its line, the peak, turns to the line, the cost.
 * @param line tokens at which the harness compacts; undefined if unknown or switched off
 */
export function statusText(
  sample: Pick<StatusSample, "tokens" | "windowTokens" | "costUsd">,
  memory: SessionMemory,
  line: number | undefined,
  color: boolean,
): string {
  const { tokens: level, windowTokens, costUsd } = sample;
  // Claude Code has no level after a compaction.
  const isBetween = level === undefined && memory.peak > 0;
  const parts = [
    isBetween ? "no level until the next call" : levelText(level, line, windowTokens, painter(color)),
  ];
  if (memory.peak > 0 && memory.peak !== level) parts.push(`peak ${tokens(memory.peak)}`);
  const { turns } = forecast(memory.recent, line ?? windowTokens);
  if (turns !== undefined && level !== undefined)
    parts.push(`${turns} ${turns === 1 ? "turn" : "turns"} to the ${line === undefined ? "end" : "line"}`);
  if (costUsd !== undefined && costUsd > 0) parts.push(`$${costUsd.toFixed(2)}`);
  return parts.join(" · ");
}

/** Percent from which a limit of the account is shown in yellow, and in red. */
const QUOTA_CLOSE = 80;
const QUOTA_END = 95;

/** The limits of the account, such as "5-hour 42%, resets in 2 h". */
export function quotaTexts(quotas: readonly QuotaReading[], now: number, color: boolean): string[] {
  const paint = painter(color);
  return quotas.map(({ limit, window_minutes = null, used_percent, resets_at }) => {
    const name = quotaName({ provider: "", limit, window_minutes });
    const used = `${Math.floor(used_percent)}%`;
    const shown =
      used_percent < QUOTA_CLOSE ? used : paint(used_percent < QUOTA_END ? "yellow" : "red", used);
    return `${name} ${shown}, ${resets_at > now ? `resets ${ahead(resets_at - now)}` : "was reset"}`;
  });
}

/** When the prompt cache goes cold, by the clock of this machine: the harness draws the line rarely while it waits for a prompt. */
export const cacheText = ({ coldAt }: Pick<CacheLife, "coldAt">, now: number): string =>
  coldAt <= now ? "cache cold" : `cache cold at ${new Date(coldAt).toTimeString().slice(0, 5)}`;

function levelText(
  level: number | undefined,
  line: number | undefined,
  window: number | undefined,
  paint: Paint,
): string {
  const limit = line ?? window;
  if (level === undefined) return limit === undefined ? "no call yet" : `no call yet of ${tokens(limit)}`;
  if (limit === undefined || limit <= 0) return `${tokens(level)} tokens`;
  const load = level / limit;
  const text = `${percent(load)} of the ${line === undefined ? "window" : "line"} (${tokens(level)} of ${tokens(limit)})`;
  if (load < CLOSE) return text;
  return paint(load < AT_LINE ? "yellow" : "red", text);
}
