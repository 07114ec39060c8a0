import { z } from "zod";

/** The version of the format. A reader refuses every other one. */
export const BACKUP_FORMAT = 1;
/** The first line of every backup; `age` and `head` show it before anything binary. */
export const BACKUP_MAGIC = `plimsoll-backup ${BACKUP_FORMAT}\n`;
/** Bytes of rows that a writer compresses into one frame at most. */
export const BACKUP_CHUNK_BYTES = 512 * 1024;
/** Bytes that a frame may hold, compressed or not. A longer one is damage, not data. */
export const BACKUP_FRAME_BYTES = 1024 * 1024;
/** Bytes of a frame of JSON: the list of contents has some 20 KB. */
const JSON_FRAME_BYTES = 256 * 1024;

const count = z.number().int().min(0);

const BackupTable = z.object({
  name: z.string().min(1),
  columns: z.array(z.object({ name: z.string().min(1), type: z.string().min(1) })).min(1),
  /** The latest number of each column that counts by itself. */
  sequences: z.array(z.object({ column: z.string().min(1), last: count })),
});
export type BackupTable = z.infer<typeof BackupTable>;

/** What a backup says of itself before its rows. */
export const BackupManifest = z.object({
  /** The version of the server that wrote it. */
  plimsoll: z.string(),
  created_at: z.iso.datetime({ offset: true }),
  /** Names of the migrations that made its tables, in order. */
  migrations: z.array(z.string()),
  /** In the order in which their rows follow. */
  tables: z.array(BackupTable),
});
export type BackupManifest = z.infer<typeof BackupManifest>;

export const BackupTableEnd = z.object({ rows: count });

/** The last frame. `sha256` covers every byte before it. */
export const BackupTrailer = z.object({ tables: count, rows: count, sha256: z.string() });
export type BackupTrailer = z.infer<typeof BackupTrailer>;

/** What a restore brought back. */
export const RestoreResult = z.object({
  projects: count,
  sessions: count,
  turns: count,
  /** Accepted events that the backup held and that are projected from now on. */
  waiting_events: count,
  rows: count,
});
export type RestoreResult = z.infer<typeof RestoreResult>;

/**
 * - `manifest`: what is in the backup
 * - `table`: the rows of a table follow; empty
 * - `data`: rows as COPY writes them as text, compressed with raw deflate
 * - `table_end`: how many rows the table had
 * - `trailer`: the end
 */
export type BackupFrame = "manifest" | "table" | "data" | "table_end" | "trailer";

const CODES: Record<BackupFrame, number> = {
  manifest: 0x4d,
  table: 0x54,
  data: 0x44,
  table_end: 0x45,
  trailer: 0x5a,
};
const FRAMES = new Map(Object.entries(CODES).map(([frame, code]) => [code, frame as BackupFrame]));

/** Bytes before the payload of a frame: its code, and the length of the payload as 32 bits, big-endian. */
export const FRAME_HEAD_BYTES = 5;

/** The bytes before the payload of a frame. */
export function frameHead(frame: BackupFrame, length: number): Uint8Array {
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  head[0] = CODES[frame];
  new DataView(head.buffer).setUint32(1, length);
  return head;
}

/** Returns undefined for bytes that begin no frame. */
export function readFrameHead(head: Uint8Array): { frame: BackupFrame; length: number } | undefined {
  const frame = FRAMES.get(head[0]!);
  const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
  const most = frame === "data" ? BACKUP_FRAME_BYTES : JSON_FRAME_BYTES;
  return frame === undefined || length > most ? undefined : { frame, length };
}

/** Why a file cannot be read as a backup. */
export type BackupDamage =
  /** It begins like something else. */
  | "not_a_backup"
  /** A newer or older format. */
  | "unknown_format"
  /** It ends before its trailer. */
  | "truncated"
  /** Its bytes are not the ones that were written. */
  | "altered";

/** Thrown for a backup that cannot be read. The message says what is wrong, in a sentence. */
export class BackupError extends Error {
  readonly reason: BackupDamage;

  constructor(reason: BackupDamage, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "BackupError";
    this.reason = reason;
  }
}
