import { judge, readDurability } from "../../db/self-check.ts";
import type { Check } from "./check.ts";

/** The settings under which PostgreSQL keeps a committed row through a power cut. */
export const durabilityCheck: Check = {
  name: "the database keeps what it acknowledges",
  units: undefined,
  weight: 1,
  size: 1,
  maxSize: 1,
  async step({ databaseUrl }) {
    const found = await readDurability(databaseUrl);
    const { wrong, fatal } = judge(found);
    const faults = fatal === undefined ? wrong : [fatal];
    const message = `fsync is ${found.fsync}, synchronous_commit ${found.synchronousCommit}, full_page_writes ${found.fullPageWrites}.`;
    return { examined: 0, faults, next: undefined, message };
  },
};
