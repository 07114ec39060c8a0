import { inflateRawSync } from "node:zlib";
import { expect } from "vitest";
import { connectTo } from "../testing/backends.ts";
import { framesOf } from "../testing/backup-file.ts";
import type { TestServer } from "../testing/server.ts";
import { caughtUp, rangeQuery } from "./support.ts";

/** What a person or a program reads of what was sent. */
const ANSWERS = [
  ...["fleet", "status", "sessions", "contents", "falls", "quality", "cache-rebuilds", "digest"],
  ...["machines", "quota", "ingest/unmapped", "sessions.csv"],
];

/** Expects that a text is neither in the database, nor in a backup of it, an answer or the log. */
export async function expectNowhere(server: TestServer, text: string): Promise<void> {
  await caughtUp(server);
  const texts = [text, Buffer.from(text).toString("hex")];
  const database = await connectTo(server.databaseUrl!);
  const { rows: tables } = await database.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
  );
  for (const { name } of tables) {
    // Packed rows show as hexadecimal digits.
    const { rows } = await database.query(
      `SELECT 1 FROM "${name}" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0`,
      texts,
    );
    expect(rows, name).toEqual([]);
  }
  await database.end();
  expect(tables.length).toBeGreaterThan(20);

  const headers = { authorization: `Bearer ${server.token}` };
  const file = await fetch(`${server.url}/api/v1/backup`, { headers });
  expect(file.status).toBe(200);
  const backup = framesOf(new Uint8Array(await file.arrayBuffer()))
    .map(({ kind, payload }) => Buffer.from(kind === "data" ? inflateRawSync(payload) : payload).toString())
    .join("");
  for (const one of texts) expect(backup.includes(one), "backup").toBe(false);

  for (const name of ANSWERS) {
    const answer = await server.request(`/api/v1/${name}?${rangeQuery}`);
    expect([name, answer.status, answer.text.includes(text)]).toEqual([name, 200, false]);
  }
  expect(server.output()).not.toContain(text);
}
