import { describe, expect, it } from "vitest";
import { examinedHistories } from "../../testing/examined-histories.ts";
import { hasPgbouncer, startPgbouncer } from "../../testing/pgbouncer.ts";

describe.skipIf(!hasPgbouncer)("the doctor through PgBouncer", () => {
  it.each(["session", "transaction"])(
    "examines everything with pool_mode %s, again and again",
    async (pool_mode) => {
      const { path, examined } = await examinedHistories(60);
      const pooling = { pool_mode, server_round_robin: "1", min_pool_size: "3" };
      const pooler = await startPgbouncer(path.databaseUrl, pooling);
      try {
        for (let round = 0; round < 3; round++) {
          const { checks } = await examined({ databaseUrl: pooler.url });
          expect(checks.filter(({ ok, complete }) => !(ok && complete))).toEqual([]);
        }
      } finally {
        await pooler.stop();
        await path.close();
      }
    },
  );
});
