import { parse } from "@decimalturn/toml-patch";
import type { PolicyInput } from "@plimsoll/guard";
import { z } from "zod";

/** Written as `_pct` in the file, but a fraction. */
const Fraction = z
  .number()
  .gt(0)
  .max(1, {
    error: ({ input }) => `must be a fraction of at most 1, such as ${Number(input) / 100} for ${input} %`,
  });

/** What the example obeys of an `ouro.toml`. */
const OuroToml = z.object({
  general: z.object({ model: z.string().optional() }).prefault({}),
  safety: z.object({ context_limit: z.int().min(256).optional() }).prefault({}),
  context: z
    .strictObject({
      soft_threshold_pct: Fraction.default(0.7),
      hard_threshold_pct: Fraction.default(0.9),
      carryover_turns: z.int().min(0).default(5),
      max_restarts: z.int().min(0).optional(),
      auto_restart: z.boolean().default(true),
    })
    .refine(
      ({ soft_threshold_pct: soft, hard_threshold_pct: hard }) => soft < hard,
      "soft_threshold_pct must be below hard_threshold_pct",
    )
    .prefault({}),
});

/**
 * Reads an `ouro.toml` into the options of a guard.
 * @throws {Error} if it is not TOML, or names each setting that is wrong
 */
export function readOuroToml(text: string) {
  const { success, data, error } = OuroToml.safeParse(parse(text));
  if (!success) throw new Error(`ouro.toml has mistakes:\n${z.prettifyError(error)}`);
  const { general, safety, context } = data;
  const share = (fraction: number) => `${Number((fraction * 100).toFixed(4))}%`;
  const policy: PolicyInput = {
    thresholds: {
      warning: null,
      ceiling: null,
      soft: share(context.soft_threshold_pct),
      hard: share(context.hard_threshold_pct),
      reserve: null,
    },
    compact: null,
    restart: {
      carryoverTurns: context.carryover_turns,
      max: context.max_restarts ?? null,
      how: context.auto_restart ? "auto" : "ask",
    },
  };
  return {
    policy,
    /** Tokens. */
    windowTokens: safety.context_limit,
    model: general.model,
  };
}
