import { z } from "zod";
import {
  HARNESS_LINE_BASES,
  LINE_CAUSES,
  LINE_VERDICTS,
  THRESHOLD_SOURCES,
  WINDOW_SOURCES,
} from "../terms.ts";

/** Units as in `read.ts`. */
const time = z.iso.datetime({ offset: true });
const tokens = z.number().int();

/** Where a harness compacts by itself. `basis` says how that is known. */
export const HarnessLineView = z.object({
  /** Null if it is off or unknown. */
  tokens: tokens.nullable(),
  basis: z.enum(HARNESS_LINE_BASES),
});
export type HarnessLineView = z.infer<typeof HarnessLineView>;

/** The compactions that a harness began by itself, of the agents with one model and window size. */
export const ObservedHarnessLine = z.object({
  harness: z.string(),
  model: z.string(),
  /** Of the turns before the compactions; null while unknown. */
  window_tokens: tokens.nullable(),
  window_source: z.enum(WINDOW_SOURCES),
  /** Whether these are sub-agents. */
  sub_agents: z.boolean(),
  /** Null if it is not known where a harness of this kind compacts. */
  line: HarnessLineView.nullable(),
  /** The line that its agents are judged by now; null if no threshold gives one. */
  judged_by: z
    .object({ threshold: z.enum(["ceiling", "hard", "reserve"]), tokens, source: z.enum(THRESHOLD_SOURCES) })
    .nullable(),
  /** The narrow range in which most of them began. */
  observed: z.object({
    falls: z.number().int(),
    /** Compactions in and out of the range. */
    of: z.number().int(),
    lowest: tokens,
    highest: tokens,
    median: tokens,
    last_at: time,
  }),
  verdict: z.enum(LINE_VERDICTS),
  /** Usual causes if the verdict is `earlier`, `later` or `not_off`; the most telling ones first. */
  causes: z.array(z.enum(LINE_CAUSES)),
});
export type ObservedHarnessLine = z.infer<typeof ObservedHarnessLine>;

export const ObservedHarnessLines = z.object({
  /** The compactions are not older. */
  since: time,
  lines: z.array(ObservedHarnessLine),
});
export type ObservedHarnessLines = z.infer<typeof ObservedHarnessLines>;
