import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecordingName } from "@plimsoll/harnesses/recordings";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sourceKind, sourceLines } from "./source.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-source-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function linesOf(name: string, content: string | Buffer, step?: number): Promise<string[]> {
  const path = join(folder, name);
  await writeFile(path, content);
  const lines: string[] = [];
  for await (const read of sourceLines(path, step)) lines.push(...read.lines);
  return lines;
}

/** 400 lines `{"n":0}` to `{"n":399}`, compressed by zstd 1.5.4 with a checksum. */
const COMPRESSED = Buffer.from(
  "KLUv/QRoLAkA5l46E7ClkA7MmiTl2L333lLK9UiGAwE4ADcALgAyWYJUUExIRDQYiyNElTqVRlt2vaFF4lAYLMlxBtZoM1ms47YXVtOzHHe+P1w0EuUWDASAQcBAIPLxff7+D19hCk9YwhFumOGFD4dwFdWUVFSLtbpCFRENCQWVSKMpUA3NjExMh7N5wpSQjIiEVBhPLHHEjRkvPg5xderTpUdvZ1+/h16c+HDhwcvJx+eB16Y9W3bsbu7td9j19PMBVE8tddStWa++DnXRRA8tdNClSY+eDnTNNM8sc8ydOW9+DnPJJI8scsiVKU9eDnLFFAGAx6gQGM83A/AZAxASgR/bu2/f3nv77t3bb2+/vXuXbyNDA4MLg4NDg1GDhYWDOSgAASAAlAUCmQJ9CADWZUEOwKXF//9ghFb2zuR/OG85AD8AOQBjGG2skcYZHx1ljPE2rG0t7ezrysaeBjUtJR1dVdHQE4NoYokkjrioKGKIF4bQwgopnPDQUMII7yTfGU4766Rzzk9POeO8YAhasIIUnOBBgxKM4JnBNLNMMsfc1BQzzCtDaWWVVE55aSlllEcG0sgiiRxyUlLIIC9B3xxmm2umeeZnZ5ljvg9vX08///vy8efBzcvJx3ddPPzkIJtcMskjLyuLHPLFIba4YoonPjaWOCJAcHe47a6b7rm/veWO+8IhbOEKU3jChw1LOMJnB9vssskee1tb7LCvDrXVVVM99bW11FEfHWijiyZ66GlpoQOAyFQDAAQBCyQjpQ==",
  "base64",
);
const LINES = Array.from({ length: 400 }, (_, n) => `{"n":${n}}`);

describe("sourceLines", () => {
  it("knows a kind by the name", () => {
    expect(
      ["a.jsonl", "a.jsonl.zst", "a.jsonl.zstd", "a.json", "a.db", "a.sqlite", "a.log"].map(sourceKind),
    ).toEqual(["lines", "compressed", "compressed", "document", "database", "database", "lines"]);
  });

  it("reads compressed lines, in chunks of any size", async () => {
    for (const step of [1, 7, 100, 1 << 16]) {
      expect(await linesOf("a.jsonl.zst", COMPRESSED, step)).toEqual(LINES);
    }
  });

  it("reads several compressed frames in one file", async () => {
    expect(await linesOf("a.jsonl.zst", Buffer.concat([COMPRESSED, COMPRESSED]))).toEqual([
      ...LINES,
      ...LINES,
    ]);
  });

  it("never reads other lines from a compressed file that is cut off", async () => {
    for (const length of [1, 20, COMPRESSED.length >> 1, COMPRESSED.length - 1]) {
      const found = await linesOf("a.jsonl.zst", COMPRESSED.subarray(0, length)).catch(() => []);
      expect(found).toEqual(LINES.slice(0, found.length));
    }
  });

  it("refuses a file that is not compressed", async () => {
    await expect(linesOf("a.jsonl.zst", '{"a":1}\n')).rejects.toThrow();
  });

  it("reads a document as one text, also with a byte order mark, and lines named .json as lines", async () => {
    const pretty = JSON.stringify({ a: [1, 2] }, undefined, 2);
    expect(await linesOf("a.json", pretty)).toEqual([pretty]);
    expect(await linesOf("a.json", `\ufeff${pretty}`)).toEqual([pretty]);
    expect(await linesOf("a.json", '{"a":1}\n{"b":2}\n')).toEqual(['{"a":1}', '{"b":2}']);
  });
});

describe("isRecordingName", () => {
  it.each([
    "a.jsonl",
    "rollout-x.jsonl.zst",
    "session.v4.jsonl.zstd",
    "session-2025-12-01-ab.json",
    "T-5f2c.json",
    "ui_messages.json",
    "17_AB.messages.json",
    "msg_1.json",
    "opencode.db",
    "opencode-dev.db",
    "threads.db",
    "sessions.db",
    "openclaw-agent.sqlite",
    "meta.json",
    "12129415-fec6-4870-a1c8-06e7e482c330.json",
    "crush.db",
    "history_item.json",
  ])("takes %s", (name) => expect(isRecordingName(name)).toBe(true));

  it.each(["package.json", "settings.json", "Cookies.db", "opencode.json", "notes.md", "opencode.db-wal"])(
    "leaves %s",
    (name) => expect(isRecordingName(name)).toBe(false),
  );
});
