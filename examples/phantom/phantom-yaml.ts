import { catalogWindow } from "@plimsoll/guard/measure";
import { parse } from "yaml";
import { z } from "zod";

const Percent = z.number().gt(0).max(100);
/** YAML reads a key without a value as null. */
const block = <S extends z.ZodType>(schema: S) => z.preprocess((value) => value ?? {}, schema);

/** What the example obeys of a `phantom.yaml`. Percentages run from 0 to 100, and null turns a threshold off. */
const PhantomYaml = z.object({
  model: z.string().optional(),
  context: block(
    z
      .strictObject({
        max_utilization_pct: Percent.nullable().default(20),
        warning_pct: Percent.nullable().default(15),
        model_context_tokens: z.int().min(1_000).nullish(),
      })
      .refine(
        ({ warning_pct: warning, max_utilization_pct: ceiling }) =>
          warning === null || ceiling === null || warning < ceiling,
        "warning_pct must be below max_utilization_pct",
      ),
  ),
  loop: block(z.object({ max_context_pct: Percent.nullish() })),
});

/**
 * Reads a `phantom.yaml` into the options of a guard and of `runLoop`.
 * @throws {Error} if it is not YAML, or names each setting that is wrong
 */
export function readPhantomYaml(text: string) {
  const { success, data, error } = PhantomYaml.safeParse(parse(text) ?? {});
  if (!success) throw new Error(`phantom.yaml has mistakes:\n${z.prettifyError(error)}`);
  const { model, context, loop } = data;
  const share = (percent: number | null) => (percent === null ? null : `${percent}%`);
  return {
    model,
    thresholds: {
      warning: share(context.warning_pct),
      ceiling: share(context.max_utilization_pct),
      soft: null,
      hard: null,
      reserve: null,
    },
    /** Tokens; undefined if the catalog does not have the model. */
    windowTokens: context.model_context_tokens ?? (model === undefined ? undefined : catalogWindow(model)),
    maxContextPct: loop.max_context_pct ?? undefined,
  };
}
