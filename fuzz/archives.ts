import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { BACKUP_MAGIC, type BackupFrame, frameHead } from "@plimsoll/protocol/backup";
import { jsonText } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import type { Random } from "./random.ts";

const TABLE = {
  name: "projects",
  columns: [
    { name: "id", type: "integer" },
    { name: "name", type: "text" },
  ],
  sequences: [{ column: "id", last: 1 }],
};
const MANIFEST = {
  plimsoll: "0.0.0",
  created_at: "2026-11-20T10:00:00Z",
  migrations: ["0001_init"],
  tables: [TABLE, { ...TABLE, name: "sessions" }],
};
const ROWS = "1\tdefault\n2\t\\N\n";

/** A backup with mutated sections, mostly with the right lengths and checksum, so that a reader gets to the end of it. */
export function archiveBytes(random: Random): Buffer {
  const sections: [BackupFrame, Buffer][] = [["manifest", json(random, MANIFEST)]];
  for (const _ of MANIFEST.tables) {
    sections.push(
      ["table", Buffer.alloc(0)],
      ["data", rows(random)],
      ["table_end", json(random, { rows: 2 })],
    );
  }
  if (random.oneIn(4)) sections.splice(random.below(sections.length), 1);
  if (random.oneIn(4)) sections.push(random.pick(sections));
  const body = Buffer.concat([Buffer.from(BACKUP_MAGIC), ...sections.map(framed)]);
  const sha256 = createHash("sha256").update(body).digest("hex");
  const whole = Buffer.concat([body, framed(["trailer", json(random, { tables: 2, rows: 4, sha256 })])]);
  return random.oneIn(3) ? mutateBytes(random, whole) : whole;
}

const framed = ([frame, payload]: [BackupFrame, Buffer]) =>
  Buffer.concat([frameHead(frame, payload.length), payload]);

const json = (random: Random, value: object) =>
  Buffer.from(jsonText(random.oneIn(5) ? mutateJson(random, value) : value));

function rows(random: Random): Buffer {
  // A frame that is small as it is sent and large as it is read.
  const text = random.oneIn(20) ? ROWS.repeat(100_000) : ROWS;
  const bytes = random.oneIn(4) ? mutateBytes(random, Buffer.from(text.slice(0, 1_000))) : Buffer.from(text);
  const packed = deflateRawSync(bytes);
  return random.oneIn(4) ? mutateBytes(random, packed) : packed;
}
