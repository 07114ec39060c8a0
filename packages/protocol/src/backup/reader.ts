import type { z } from "zod";
import { safeParse } from "../safe-parse.ts";
import {
  BACKUP_FORMAT,
  BACKUP_MAGIC,
  BackupError,
  type BackupFrame,
  BackupManifest,
  type BackupTable,
  BackupTableEnd,
  BackupTrailer,
  FRAME_HEAD_BYTES,
  readFrameHead,
} from "./format.ts";

/** A sha256 that is fed in parts, such as node:crypto's. */
export interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

/** A piece of a backup, in the order of the file. */
export type BackupPart =
  | { kind: "manifest"; manifest: BackupManifest }
  | { kind: "table"; table: BackupTable }
  | { kind: "data"; data: Uint8Array }
  | { kind: "table_end"; table: BackupTable; rows: number }
  | { kind: "end"; trailer: BackupTrailer };

const MAGIC = new TextEncoder().encode(BACKUP_MAGIC);
/** Bytes in which the first line of any format ends. */
const LONGEST_MAGIC = 32;

/**
 * Reads a backup from its bytes, however they are divided, and holds one frame at most in memory. Every part is checked
 * for its place, and the whole for its sha256.
 *
 * @example
 * const reader = new BackupReader(createHash("sha256"));
 * for await (const bytes of file) for (const part of reader.push(bytes)) use(part);
 * reader.end();
 */
export class BackupReader {
  readonly #hash: RunningHash;
  #chunks: Uint8Array[] = [];
  #held = 0;
  /** Bytes to wait for before there is anything to read. */
  #needed = MAGIC.length;
  #begun = false;
  #manifest: BackupManifest | undefined;
  /** The place of the table being read, or of the next one, in the manifest. */
  #at = 0;
  #inTable = false;
  #rows = 0;
  #ended = false;

  /** @param hash a new sha256 */
  constructor(hash: RunningHash) {
    this.#hash = hash;
  }

  /**
   * Takes the next bytes and returns the parts that they complete.
   * @throws BackupError
   */
  push(bytes: Uint8Array): BackupPart[] {
    if (bytes.length === 0) return [];
    this.#chunks.push(bytes);
    this.#held += bytes.length;
    // What begins like something else is refused at once, however short it is.
    if (!this.#begun) this.#checkMagic();
    if (this.#ended) throw altered("It continues after its end.");
    if (this.#held < this.#needed) return [];
    const all = this.#join();
    const parts: BackupPart[] = [];
    let from = 0;
    for (;;) {
      const left = all.length - from;
      if (this.#ended && left > 0) throw altered("It continues after its end.");
      if (left < this.#needed) break;
      if (!this.#begun) {
        this.#begun = true;
        this.#hash.update(MAGIC);
        from += MAGIC.length;
        this.#needed = FRAME_HEAD_BYTES;
        continue;
      }
      const head = readFrameHead(all.subarray(from, from + FRAME_HEAD_BYTES));
      if (head === undefined) throw altered("One of its sections has no valid beginning.");
      const whole = FRAME_HEAD_BYTES + head.length;
      if (left < whole) {
        this.#needed = whole;
        break;
      }
      const bytesOfFrame = all.subarray(from, from + whole);
      parts.push(this.#read(head.frame, bytesOfFrame.subarray(FRAME_HEAD_BYTES)));
      if (head.frame !== "trailer") this.#hash.update(bytesOfFrame);
      from += whole;
      this.#needed = FRAME_HEAD_BYTES;
    }
    this.#chunks = from < all.length ? [all.subarray(from)] : [];
    this.#held = all.length - from;
    return parts;
  }

  /**
   * Call it after the last byte.
   * @throws BackupError `truncated`
   */
  end(): void {
    if (this.#ended) return;
    if (!this.#begun && this.#held === 0) throw new BackupError("not_a_backup", "The file is empty.");
    throw new BackupError("truncated", "The backup is incomplete: it ends too early.");
  }

  #checkMagic(): void {
    const [line = "", rest] = new TextDecoder()
      .decode(this.#join().subarray(0, LONGEST_MAGIC))
      .split("\n", 2);
    if (rest === undefined ? BACKUP_MAGIC.startsWith(line) : `${line}\n` === BACKUP_MAGIC) return;
    const format = /^plimsoll-backup (\d+)$/.exec(line)?.[1];
    if (format === undefined) throw new BackupError("not_a_backup", "This is not a Plimsoll backup.");
    if (rest === undefined && this.#held < LONGEST_MAGIC) {
      this.#needed = this.#held + 1;
      return;
    }
    throw new BackupError(
      "unknown_format",
      `The backup has the format ${format}, and this version reads the format ${BACKUP_FORMAT}. Use the version of Plimsoll that wrote it.`,
    );
  }

  #join(): Uint8Array {
    if (this.#chunks.length === 1) return this.#chunks[0]!;
    const all = new Uint8Array(this.#held);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [all];
    return all;
  }

  #read(frame: BackupFrame, payload: Uint8Array): BackupPart {
    if (frame === "manifest") return this.#readManifest(payload);
    if (this.#manifest === undefined) throw altered("It does not begin with its list of contents.");
    const table = this.#manifest.tables[this.#at];
    const inOrder = frame === "data" || frame === "table_end" ? this.#inTable : !this.#inTable;
    if (!inOrder || (table === undefined) !== (frame === "trailer")) {
      throw altered("Its sections are not in the order in which they were written.");
    }
    if (frame === "data") return { kind: "data", data: payload };
    if (frame === "trailer") return this.#readTrailer(payload);
    if (frame === "table") {
      this.#inTable = true;
      return { kind: "table", table: table! };
    }
    const { rows } = parse(BackupTableEnd, payload);
    this.#inTable = false;
    this.#at += 1;
    this.#rows += rows;
    return { kind: "table_end", table: table!, rows };
  }

  #readManifest(payload: Uint8Array): BackupPart {
    if (this.#manifest !== undefined) throw altered("It lists its contents twice.");
    this.#manifest = parse(BackupManifest, payload);
    return { kind: "manifest", manifest: this.#manifest };
  }

  #readTrailer(payload: Uint8Array): BackupPart {
    const trailer = parse(BackupTrailer, payload);
    if (this.#hash.digest("hex") !== trailer.sha256) throw altered("Its checksum does not match.");
    if (trailer.tables !== this.#at || trailer.rows !== this.#rows) throw altered("Its totals do not match.");
    this.#ended = true;
    return { kind: "end", trailer };
  }
}

function altered(detail: string, cause?: unknown): BackupError {
  return new BackupError("altered", `The backup is damaged: it was changed after it was written. ${detail}`, {
    cause,
  });
}

function parse<T>(schema: z.ZodType<T>, payload: Uint8Array): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch (cause) {
    throw altered("One of its sections cannot be read.", cause);
  }
  const parsed = safeParse(schema, value);
  if (parsed.success) return parsed.data;
  throw altered("One of its sections cannot be read.", parsed.error);
}
