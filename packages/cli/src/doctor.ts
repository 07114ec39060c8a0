import { type DoctorCheck, DoctorReport, type DoctorReport as Report } from "@plimsoll/protocol/api";
import type { Client } from "./client.ts";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import { painter, printable, printableJson, type Terminal } from "./terminal.ts";

/** Longest time to wait for one part of the report, ms. A part ends with the step that is under way. */
export const DOCTOR_MS = 10 * 60_000;
/** Time after which the server answers with what it has examined so far, ms. */
const PART_MS = 1_000;

export interface DoctorFlags {
  json?: boolean;
  /** Examines everything, however long it takes. */
  full?: boolean;
}

/** Columns for the names of the checks. They arrive one by one, so the longest is not known before. */
const NAME_WIDTH = 39;

/** Yields the server's report part by part, with a connection check first. A failed connection is a failed check. */
export async function* examine(
  client: Client,
  connection: Connection,
  full: boolean,
): AsyncGenerator<Pick<Report, "checks" | "progress">> {
  const key =
    connection.tokenSource === undefined
      ? "requests without a key"
      : `the key from ${connection.tokenSource}`;
  let cursor: string | null = null;
  do {
    try {
      const input = { full, answer_within_ms: PART_MS, ...(cursor !== null && { cursor }) };
      const part: Report = await client.query("doctor", input, DoctorReport);
      const reached = connectionCheck(true, `${connection.url} answers and accepts ${key}.`);
      const { progress } = part;
      yield { progress, checks: cursor === null ? [reached, ...part.checks] : part.checks };
      cursor = part.next;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const message = [error.message, error.hint].filter(Boolean).join(" ");
      yield { progress: null, checks: [connectionCheck(false, message)] };
      return;
    }
  } while (cursor !== null);
}

function connectionCheck(ok: boolean, message: string): DoctorCheck {
  return { name: "connection", ok, note: false, message, examined: null, of: null, complete: true };
}

export function checkLine({ name, ok, note, message }: DoctorCheck, color: boolean): string {
  const paint = painter(color);
  const mark = !ok ? paint("red", "FAIL") : note ? paint("dim", "note") : paint("green", "ok  ");
  return `${mark}  ${printable(name).padEnd(NAME_WIDTH)}  ${printable(message)}`;
}

/** The last line: what the checks say together. */
export function verdict(checks: readonly DoctorCheck[], color: boolean): string {
  if (checks.some(({ ok }) => !ok)) return painter(color)("bold", "Some checks failed.");
  if (checks.every(({ complete }) => complete)) return "All checks passed.";
  return "No check failed. Run `npx plimsoll doctor --full` to examine everything.";
}

/** Prints each check when it ends and, on a terminal, how far the current one is. Returns whether all passed. */
export async function runDoctor(
  client: Client,
  connection: Connection,
  { out, err }: { out: Terminal; err: Terminal },
  { json = false, full = false }: DoctorFlags,
): Promise<boolean> {
  const checks: DoctorCheck[] = [];
  const showProgress = (text: string) => {
    if (err.isTty) err.write(`\r\u001b[K${printable(text).slice(0, err.width - 1)}`);
  };
  for await (const part of examine(client, connection, full)) {
    showProgress("");
    checks.push(...part.checks);
    if (!json) for (const check of part.checks) out.write(`${checkLine(check, out.color)}\n`);
    if (part.progress !== null) showProgress(`${part.progress.name}: ${part.progress.message}`);
  }
  const ok = checks.every((check) => check.ok);
  if (json) out.write(`${printableJson({ ok, checks })}\n`);
  else out.write(`\n${verdict(checks, out.color)}\n`);
  return ok;
}
