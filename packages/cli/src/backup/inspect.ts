import { createHash } from "node:crypto";
import { BackupError, type BackupManifest, BackupReader } from "@plimsoll/protocol/backup";
import { CliError } from "../errors.ts";

/** What a backup says of itself, as far as it was read. */
export interface Inspection {
  manifest?: BackupManifest;
  /** Rows by table. */
  rows: Map<string, number>;
  /** Bytes before encryption. */
  bytes: number;
}

/**
 * Passes a backup on and checks it: the last byte is passed on before the check ends, so use the bytes for good only after
 * it.
 * @param progress called after every piece
 * @throws CliError for a damaged backup
 */
export async function* inspected(
  source: AsyncIterable<Uint8Array>,
  inspection: Inspection,
  progress: (inspection: Inspection) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const reader = new BackupReader(createHash("sha256"));
  try {
    for await (const bytes of source) {
      for (const part of reader.push(bytes)) {
        if (part.kind === "manifest") inspection.manifest = part.manifest;
        if (part.kind === "table_end") inspection.rows.set(part.table.name, part.rows);
      }
      inspection.bytes += bytes.length;
      progress(inspection);
      yield bytes;
    }
    reader.end();
  } catch (error) {
    throw error instanceof BackupError ? new CliError(error.message, { cause: error }) : error;
  }
}
