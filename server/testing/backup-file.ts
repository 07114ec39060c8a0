import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import {
  BACKUP_MAGIC,
  type BackupFrame,
  type BackupManifest,
  frameHead,
  readFrameHead,
} from "@plimsoll/protocol/backup";

export interface FileFrame {
  kind: BackupFrame;
  payload: Uint8Array;
}

/** Divides a valid backup into its frames, without the trailer. For tests. */
export function framesOf(file: Uint8Array): FileFrame[] {
  const frames: FileFrame[] = [];
  for (let at = BACKUP_MAGIC.length; at < file.length; ) {
    const { frame, length } = readFrameHead(file.subarray(at, at + 5))!;
    frames.push({ kind: frame, payload: file.subarray(at + 5, at + 5 + length) });
    at += 5 + length;
  }
  return frames.filter(({ kind }) => kind !== "trailer");
}

/** Makes a backup of frames, with the trailer that belongs to them: nothing but its content shows that it was forged. */
export function fileOf(frames: readonly FileFrame[]): Buffer {
  const parts: Uint8Array[] = [Buffer.from(BACKUP_MAGIC)];
  for (const { kind, payload } of frames) parts.push(frameHead(kind, payload.length), payload);
  const ends = frames.filter(({ kind }) => kind === "table_end");
  const trailer = Buffer.from(
    JSON.stringify({
      tables: ends.length,
      rows: ends.reduce((sum, { payload }) => sum + (jsonOf(payload) as { rows: number }).rows, 0),
      sha256: createHash("sha256").update(Buffer.concat(parts)).digest("hex"),
    }),
  );
  return Buffer.concat([...parts, frameHead("trailer", trailer.length), trailer]);
}

export const jsonOf = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString());
export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
export const packed = (text: string | Uint8Array): Buffer => deflateRawSync(text);

export const manifestOf = (file: Uint8Array) => jsonOf(framesOf(file)[0]!.payload) as BackupManifest;

/** The rows of a table as COPY wrote them. */
export function rowsOf(file: Uint8Array, table: string): string {
  const frames = framesOf(file);
  const place = manifestOf(file).tables.findIndex(({ name }) => name === table);
  let at = -1;
  const found: Buffer[] = [];
  for (const { kind, payload } of frames) {
    if (kind === "table") at += 1;
    if (kind === "data" && at === place) found.push(inflateRawSync(payload));
  }
  return Buffer.concat(found).toString();
}

/** The file with another manifest. */
export function withManifest(file: Uint8Array, change: (manifest: BackupManifest) => unknown): Buffer {
  const [first, ...rest] = framesOf(file);
  return fileOf([
    { kind: "manifest", payload: json(change(jsonOf(first!.payload) as BackupManifest)) },
    ...rest,
  ]);
}

/** The file with other rows in one table. */
export function withRows(file: Uint8Array, table: string, payload: Uint8Array, rows: number): Buffer {
  const place = manifestOf(file).tables.findIndex(({ name }) => name === table);
  let at = -1;
  const frames = framesOf(file).flatMap((frame): FileFrame[] => {
    if (frame.kind === "table") at += 1;
    if (at !== place) return [frame];
    if (frame.kind === "table") return [frame, { kind: "data", payload }];
    return frame.kind === "table_end" ? [{ kind: "table_end", payload: json({ rows }) }] : [];
  });
  return fileOf(frames);
}
