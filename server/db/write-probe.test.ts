import pg from "pg";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { emptyDatabase } from "../testing/database.ts";
import { canMount, smallDisk } from "../testing/small-disk.ts";
import { openDatabase } from "./client.ts";
import { startEmbedded } from "./postgres/embedded.ts";
import { openWriters } from "./sql.ts";
import { probeWrite } from "./write-probe.ts";

const log = pino({ level: "silent" });

describe("probeWrite", () => {
  it("finds nothing wrong with a database that can store, and changes nothing in it", async () => {
    const { url, close } = await emptyDatabase();
    const database = openDatabase({ url, poolSize: 1, log, purpose: "control" });
    expect(await probeWrite(database)).toBeUndefined();
    const tables = await database.$queryRaw`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`;
    expect(tables).toEqual([]);
    await database.$disconnect();
    await close();
  });

  it("finds a database that is read-only", async () => {
    const { url, close } = await emptyDatabase();
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
    );
    await admin.end();
    const database = openDatabase({ url, poolSize: 1, log, purpose: "control" });
    expect(await probeWrite(database)).toBe("read_only");
    await database.$disconnect();
    await close();
  });

  it("finds a database that is away", async () => {
    const database = openDatabase({
      url: "postgresql://nobody:none@127.0.0.1:1/nothing",
      poolSize: 1,
      log,
      purpose: "control",
    });
    expect(await probeWrite(database)).toBe("connection");
    await database.$disconnect();
  });

  it.runIf(canMount)("finds a disk that is full, and that it has room again", async () => {
    const disk = await smallDisk();
    const embedded = await startEmbedded({ home: disk.home, log });
    const control = openDatabase({ url: embedded.url, poolSize: 1, log, purpose: "control" });
    const writers = openWriters({ url: embedded.url, size: 1, log });
    const store = () =>
      writers.transaction((sql) =>
        sql.execute("INSERT INTO notes SELECT repeat('x', 1000) FROM generate_series(1, 1000)"),
      );
    try {
      await writers.transaction((sql) => sql.execute("CREATE TABLE notes (text text)"));
      await store();
      disk.fill();
      expect(await probeWrite(control)).toBe("disk_full");
      await expect(store()).rejects.toMatchObject({ code: "53100" });
      expect(writers.failure()).toBe("disk_full");
      await disk.free();
      expect(await probeWrite(control)).toBeUndefined();
      await store();
      expect(writers.failure()).toBeUndefined();
    } finally {
      await control.$disconnect();
      await writers.end();
      await embedded.stop();
      await disk.unmount();
    }
  });
});
