import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { BACKUP_MAGIC, BackupError, type BackupFrame, type BackupManifest, frameHead } from "./format.ts";
import { type BackupPart, BackupReader } from "./reader.ts";

const TABLES: BackupManifest["tables"] = ["first", "second"].map((name) => ({
  name,
  columns: [{ name: "id", type: "integer" }],
  sequences: [],
}));
const MANIFEST: BackupManifest = {
  plimsoll: "1.2.3",
  created_at: "2026-11-23T04:00:00.000Z",
  migrations: ["0001_init"],
  tables: TABLES,
};

type Section = [kind: BackupFrame, payload?: unknown];
const SECTIONS: Section[] = [
  ["manifest", MANIFEST],
  ["table"],
  ["data", new Uint8Array([1, 2, 3])],
  ["data", new Uint8Array()],
  ["table_end", { rows: 2 }],
  ["table"],
  ["table_end", { rows: 0 }],
];

const bytesOf = (payload: unknown): Uint8Array =>
  payload === undefined
    ? new Uint8Array()
    : payload instanceof Uint8Array
      ? payload
      : Buffer.from(JSON.stringify(payload));

/** A file of these sections with a trailer whose checksum is right. */
function file(sections: readonly Section[] = SECTIONS, trailer: object = { tables: 2, rows: 2 }): Buffer {
  const parts: Uint8Array[] = [Buffer.from(BACKUP_MAGIC)];
  for (const [kind, payload] of sections) {
    const bytes = bytesOf(payload);
    parts.push(frameHead(kind, bytes.length), bytes);
  }
  const sha256 = createHash("sha256").update(Buffer.concat(parts)).digest("hex");
  const end = bytesOf({ sha256, ...trailer });
  return Buffer.concat([...parts, frameHead("trailer", end.length), end]);
}

/** Reads a file in pieces of `size` bytes. */
function read(bytes: Uint8Array, size = bytes.length): BackupPart[] {
  const reader = new BackupReader(createHash("sha256"));
  const parts: BackupPart[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(...reader.push(bytes.subarray(at, at + size)));
  reader.end();
  return parts;
}

function reasonOf(bytes: Uint8Array, size?: number): string {
  try {
    read(bytes, size);
    return "none";
  } catch (error) {
    expect(error).toBeInstanceOf(BackupError);
    return (error as BackupError).reason;
  }
}

describe("reading a backup", () => {
  it.each([1, 2, 7, 64, 100_000])("returns its parts from pieces of %i bytes", (size) => {
    const parts = read(file(), size);
    expect(parts.map(({ kind }) => kind)).toEqual([
      "manifest",
      "table",
      "data",
      "data",
      "table_end",
      "table",
      "table_end",
      "end",
    ]);
    expect(parts[0]).toEqual({ kind: "manifest", manifest: MANIFEST });
    expect([...(parts[2] as { data: Uint8Array }).data]).toEqual([1, 2, 3]);
    expect(parts[4]).toEqual({ kind: "table_end", table: TABLES[0], rows: 2 });
  });

  it("refuses a file that ends at any byte before its last", () => {
    const whole = file();
    for (let length = 1; length < whole.length; length++) {
      expect(reasonOf(whole.subarray(0, length)), `${length} bytes`).toBe("truncated");
    }
    expect(reasonOf(new Uint8Array())).toBe("not_a_backup");
  });

  it("refuses a file with any bit flipped", () => {
    const whole = file();
    for (let at = 0; at < whole.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const altered = Buffer.from(whole);
        altered[at]! ^= 1 << bit;
        expect(reasonOf(altered), `bit ${bit} of byte ${at}`).not.toBe("none");
      }
    }
  });

  it.each([
    ["another file", Buffer.from("PK\u0003\u0004 something else entirely, and longer"), "not_a_backup"],
    ["a short text", Buffer.from("hi"), "not_a_backup"],
    ["a newer format", Buffer.from("plimsoll-backup 2\nwhatever follows"), "unknown_format"],
    ["a much newer format", Buffer.from("plimsoll-backup 123456\n"), "unknown_format"],
    ["bytes after the end", Buffer.concat([file(), Buffer.from("x")]), "altered"],
    ["two backups in one", Buffer.concat([file(), file()]), "altered"],
    [
      "an enormous section",
      Buffer.concat([Buffer.from(BACKUP_MAGIC), frameHead("data", 0xffff_ffff)]),
      "altered",
    ],
    ["rows before the manifest", file(SECTIONS.slice(1)), "altered"],
    ["a second manifest", file([SECTIONS[0]!, ...SECTIONS]), "altered"],
    ["rows outside a table", file([...SECTIONS, ["data", new Uint8Array(1)]]), "altered"],
    ["a table that is missing", file(SECTIONS.slice(0, 5)), "altered"],
    ["a table too many", file([...SECTIONS, ["table"], ["table_end", { rows: 0 }]]), "altered"],
    ["a table inside a table", file([SECTIONS[0]!, ["table"], ["table"]]), "altered"],
    ["a negative count", file([SECTIONS[0]!, ["table"], ["table_end", { rows: -1 }]]), "altered"],
    ["a manifest that is no JSON", file([["manifest", Buffer.from("{")]]), "altered"],
    ["a manifest that is not UTF-8", file([["manifest", Buffer.from([0x22, 0xff, 0x22])]]), "altered"],
    ["other totals", file(SECTIONS, { tables: 2, rows: 3 }), "altered"],
    ["another checksum", file(SECTIONS, { tables: 2, rows: 2, sha256: "00" }), "altered"],
  ])("refuses %s", (_name, bytes, reason) => {
    expect(reasonOf(bytes)).toBe(reason);
    expect(reasonOf(bytes, 1)).toBe(reason);
  });
});
