import type { AlertConditionOf } from "@plimsoll/protocol/alerts";
import { exact } from "@plimsoll/protocol/pure";
import { findRecent, type SeenBoundary } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";

/** A masking or compaction that freed little. */
export const smallReclaim: AgentConditionKind<"small_reclaim"> = {
  title: "a boundary frees little",
  phrase: ({ below_tokens }) => `a masking or compaction frees less than ${exact(below_tokens)} tokens`,
  fields: { below_tokens: { label: "Freed less than", kind: "number", unit: "tokens" } },
  start: { type: "small_reclaim", below_tokens: 5_000 },
  advice: "Restart the agent with a summary: to compact again would free little.",
  spansWindows: true,
  find: (condition, sight, _held, now) => findRecent(sight, now, isSmall(condition)),
  why: (condition, { boundaries }) =>
    `A ${boundaries.find(isSmall(condition))?.type ?? "compacted"} boundary freed less than ${exact(condition.below_tokens)} tokens`,
};

const isSmall =
  ({ below_tokens }: AlertConditionOf<"small_reclaim">) =>
  ({ type, tokensBefore, tokensAfter }: SeenBoundary) =>
    (type === "masked" || type === "compacted") &&
    tokensBefore !== undefined &&
    tokensAfter !== undefined &&
    tokensBefore - tokensAfter < below_tokens;
