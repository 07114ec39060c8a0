import { LRUCache } from "lru-cache";
import type { Sql } from "../../db/sql.ts";
import { ALL } from "../../db/tables/buckets.ts";
import { readNamesOfDays } from "../../db/tables/read-rollup-names.ts";
import { type NamesOfDay, OTHER, type RollupNameRow } from "../../db/tables/rollup-names.ts";
import type { RollupChanges } from "../plan/rollup-changes.ts";

/** Names in memory, of all days together; 100 to 600 bytes each. */
const REMEMBERED_NAMES = 50_000;
/** Days whose names one statement reads. */
const DAYS_AT_ONCE = 50;

/** What the projector remembers of the names that rollups are counted under. */
export class RollupNames {
  readonly #projectId: number;
  readonly #days = new LRUCache<number, NamesOfDay>({
    maxSize: REMEMBERED_NAMES,
    sizeCalculation: (names) => names.size + 1,
  });

  constructor(projectId: number) {
    this.#projectId = projectId;
  }

  /**
   * Lets new names in while their day has room, and counts the others under one name. Returns the names to store.
   * @param limit most pairs of a day, and most harnesses of boundaries
   */
  async admit(sql: Pick<Sql, "query">, changes: RollupChanges, limit: number): Promise<RollupNameRow[]> {
    const added: RollupNameRow[] = [];
    const days = [...changes.days];
    for (let start = 0; start < days.length; start += DAYS_AT_ONCE) {
      for (const [day, names] of await this.#load(sql, days.slice(start, start + DAYS_AT_ONCE))) {
        const add = (harness: string, model: string) => {
          if (names.has(harness, model)) return;
          names.add(harness, model);
          added.push({ day, harness, model });
        };
        changes.rename(day, (harness, model) => {
          if (names.has(harness, model)) return true;
          const admitted = harness !== OTHER && names.hasRoom(model, limit);
          if (admitted) add(harness, model);
          else add(OTHER, model === ALL ? ALL : OTHER);
          return admitted;
        });
        // Again, because its size may have changed.
        this.#days.set(day, names);
      }
    }
    return added;
  }

  async #load(sql: Pick<Sql, "query">, days: readonly number[]): Promise<Map<number, NamesOfDay>> {
    const missing = days.filter((day) => !this.#days.has(day));
    const read = await readNamesOfDays(sql, this.#projectId, missing);
    return new Map(days.map((day) => [day, this.#days.get(day) ?? read.get(day)!]));
  }
}
