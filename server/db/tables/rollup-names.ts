import { DAY_MS } from "../../times.ts";
import { ALL } from "./buckets.ts";
import { defineTable, type RowOf } from "./table.ts";

/**
 * Most pairs of harness and model that rollups of one UTC day tell apart, most harnesses that boundary rollups do, and
 * most new models and new harness instances that are recorded in a day. A day that was full must stay full, so a higher
 * limit needs a migration that closes such days.
 */
export const NAMES_PER_DAY = 500;

/** Most models of a project that turns tell apart. */
export const MOST_MODELS = 10_000;

/** Stands for every name beyond a limit. */
export const OTHER = "(other)";

/**
 * The pairs that rollups of a day are counted under. `model` is `ALL` for a harness of boundary rollups. A pair stays until
 * the project is deleted, and a pair that found the day full never enters: so a correction finds what it corrects.
 */
export const rollupNames = defineTable("rollup_names", ["day", "harness", "model"], {
  /** Start of the day, UTC. */
  day: "time",
  harness: "text",
  model: "text",
});

export type RollupNameRow = RowOf<typeof rollupNames>;

/** The start of the UTC day of an instant. Epoch ms. */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** The names that rollups of one day are counted under. */
export class NamesOfDay {
  readonly #names = new Set<string>();
  #pairs = 0;
  #harnesses = 0;

  /** The number of names, those of boundary rollups included. */
  get size(): number {
    return this.#names.size;
  }

  /** The number of pairs, or of harnesses of boundary rollups if there are more: what the limit of a day is for. */
  get limited(): number {
    return Math.max(this.#pairs, this.#harnesses);
  }

  has(harness: string, model: string): boolean {
    return this.#names.has(keyOf(harness, model));
  }

  add(harness: string, model: string): void {
    const before = this.#names.size;
    this.#names.add(keyOf(harness, model));
    if (this.#names.size === before || harness === OTHER) return;
    if (model === ALL) this.#harnesses += 1;
    else this.#pairs += 1;
  }

  /** Whether the day has room for one more pair, or one more harness of boundary rollups if `model` is `ALL`. */
  hasRoom(model: string, limit: number): boolean {
    return (model === ALL ? this.#harnesses : this.#pairs) < limit;
  }

  /** The names that a turn is counted under. */
  placeOf(harness: string, model: string): [harness: string, model: string] {
    return this.has(harness, model) ? [harness, model] : [OTHER, OTHER];
  }

  /** The harness that a boundary is counted under. */
  harnessOf(harness: string): string {
    return this.has(harness, ALL) ? harness : OTHER;
  }
}

/** No name may contain NUL, so the joined text is unambiguous. */
function keyOf(harness: string, model: string): string {
  return `${harness}\u0000${model}`;
}
