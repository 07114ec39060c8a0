import { atLevel, type TurnCache } from "../agent-sight.ts";
import { type AgentConditionKind, forTurns, shareText } from "../condition-kind.ts";
import { TURNS_FIELD } from "../find-level.ts";

/** Cache reads ÷ context tokens. The first turn of a window does not count: it has no cache to read. */
export const cacheReadShare: AgentConditionKind<"cache_read_share"> = {
  title: "cache read share",
  phrase: ({ below, turns }) =>
    `less than ${shareText(below)} of the context read from the cache${forTurns(turns)}`,
  fields: { below: { label: "Cache reads below", kind: "percent" }, turns: TURNS_FIELD },
  start: { type: "cache_read_share", below: 0.5, turns: 3 },
  advice: "Find what changes early in the prompt: everything after it is paid in full on each turn.",
  spansWindows: false,
  needs: ({ turns }) => ({ cacheTurns: turns + 1 }),
  find({ below, turns }, sight) {
    const { caches } = sight;
    const isLow = ({ share }: TurnCache) => share !== undefined && share < below;
    return atLevel(sight, caches.length > turns && caches.slice(0, turns).every(isLow));
  },
  why: ({ below, turns }, { caches }) =>
    `${shareText(caches[0]?.share ?? 0)} of the context was read from the cache, below ${shareText(below)}${forTurns(turns)}`,
};
