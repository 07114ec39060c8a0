import { type DoctorCheck, DoctorReport, type DoctorReport as Report } from "@plimsoll/protocol/api";
import type { Client } from "./client.ts";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import { compareClocks } from "./network/server-clock.ts";
import { cutColumns, painter, printable, printableJson, type Terminal } from "./terminal.ts";

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
  now: () => number,
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
      const first = cursor === null ? [reached, ...(await clockCheck(connection, now))] : [];
      yield { progress, checks: [...first, ...part.checks] };
      cursor = part.next;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const message = [error.message, error.hint].filter(Boolean).join(" ");
      yield { progress: null, checks: [connectionCheck(false, message)] };
      return;
    }
  } while (cursor !== null);
}

const ownCheck = (name: string, ok: boolean, message: string): DoctorCheck => ({
  ...{ name, ok, note: false, message, examined: null, of: null, complete: true },
});
const connectionCheck = (ok: boolean, message: string) => ownCheck("connection", ok, message);

/** None if the server does not say its time. */
async function clockCheck({ url }: Connection, now: () => number): Promise<DoctorCheck[]> {
  const compared = await compareClocks(url, now);
  if (compared === undefined) return [];
  const { fault } = compared;
  return [
    ownCheck("clock", fault === undefined, fault ?? "The clocks of this machine and the server agree."),
  ];
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

/** A check takes long from here on, ms. */
const LONG_MS = 10_000;
/** How often the time is written anew, ms. */
const TICK_MS = 1_000;

interface Doing {
  name: string;
  message: string;
  /** Epoch ms. */
  since: number;
}

/** What the server is doing, with the time it has taken if that is long: "agents: 100 of 200 agents folded again. This check takes long: 12 s so far". */
export function doingText({ name, message, since }: Doing, now: number): string {
  const forMs = now - since;
  const time = forMs < LONG_MS ? "" : `. This check takes long: ${Math.floor(forMs / 1_000)} s so far`;
  return `${name}: ${message}${time}`;
}

/**
 * Prints each check when it ends, and on standard error what the server is doing: on a terminal in one line that changes, else a
 * line when a check takes long and each time it has taken twice as long. Returns whether all passed.
 */
export async function runDoctor(
  client: Client,
  connection: Connection,
  { out, err, now }: { out: Terminal; err: Terminal; now: () => number },
  { json = false, full = false }: DoctorFlags,
): Promise<boolean> {
  const checks: DoctorCheck[] = [];
  let doing: Doing = { name: "connection", message: `asking ${connection.url}`, since: now() };
  let tellAfter = LONG_MS;
  const begin = ({ name, message }: Omit<Doing, "since">) => {
    const goesOn = name === doing.name;
    doing = { name, message, since: goesOn ? doing.since : now() };
    if (!goesOn) tellAfter = LONG_MS;
  };
  const showDoing = () => {
    const text = printable(doingText(doing, now()));
    if (err.isTty) err.write(`\r${cutColumns(text, err.width - 1)}\u001b[K`);
    else if (now() - doing.since >= tellAfter) {
      tellAfter = 2 * (now() - doing.since);
      err.write(`${text}\n`);
    }
  };
  const timer = setInterval(showDoing, TICK_MS);
  try {
    showDoing();
    for await (const part of examine(client, connection, full, now)) {
      if (err.isTty) err.write("\r\u001b[K");
      checks.push(...part.checks);
      if (!json) for (const check of part.checks) out.write(`${checkLine(check, out.color)}\n`);
      if (part.progress !== null) {
        begin(part.progress);
        showDoing();
      }
    }
  } finally {
    clearInterval(timer);
  }
  const ok = checks.every((check) => check.ok);
  if (json) out.write(`${printableJson({ ok, checks })}\n`);
  else out.write(`\n${verdict(checks, out.color)}\n`);
  return ok;
}
