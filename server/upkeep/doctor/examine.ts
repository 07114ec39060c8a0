import type { DoctorCheck, DoctorReport } from "@plimsoll/protocol/api";
import { PlimsollError } from "../../errors.ts";
import type { Reader } from "../../lines/reader.ts";
import { marksCheck } from "./acknowledged-marks.ts";
import { agentNumbersCheck } from "./agent-numbers.ts";
import { agentsCheck } from "./agents.ts";
import { alertsCheck } from "./alerts.ts";
import { certificateCheck, type ExaminedCertificate } from "./certificate.ts";
import { type Check, count } from "./check.ts";
import { DoctorConnection, OutOfTime } from "./connection.ts";
import { decodeCursor, encodeCursor, type Walk } from "./cursor.ts";
import { durabilityCheck } from "./durability.ts";
import { hoursCheck } from "./hours.ts";
import { longerBucketsCheck } from "./longer-buckets.ts";
import { sessionsCheck } from "./sessions.ts";
import { totalsCheck } from "./totals.ts";
import { contestNote, journalNote, setAsideCheck, upkeepNote } from "./work-left.ts";

export interface ExamineOptions {
  databaseUrl: string;
  /** Of the key with which this server encrypts secrets. */
  keyId: string;
  /** Milliseconds; only differences count. */
  clock: () => number;
  /** Of this process. Absent without TLS. */
  certificate?: ExaminedCertificate | undefined;
  /** Milliseconds for all checks together; undefined to examine everything. */
  budget: number | undefined;
  /** Milliseconds after which the answer ends with a cursor. Absent: the whole report in one answer. */
  answerWithin?: number;
  /** `next` of the previous part. Give the same budget again. */
  cursor?: string;
}

/** Milliseconds of an examination by sampling. */
export const BUDGET_MS = 20_000;

/** In this order. What is left of one check's time is the next ones'. */
const CHECKS: readonly Check[] = [
  durabilityCheck,
  journalNote,
  setAsideCheck,
  upkeepNote,
  contestNote,
  certificateCheck,
  alertsCheck,
  totalsCheck,
  agentNumbersCheck,
  marksCheck,
  sessionsCheck,
  longerBucketsCheck,
  hoursCheck,
  agentsCheck,
];

/** A step should take about so long, ms: short enough to keep to the time, long enough to be worth a transaction. */
const STEP_MS = { least: 100, most: 400 };
/** Differences that are named; the others are only counted. */
const NAMED = 5;

/** Compares every derived column with what it derives from, as far as the time allows. Writes nothing. */
export async function examine(
  { projectId }: Pick<Reader, "projectId">,
  { databaseUrl, keyId, certificate, clock, budget, answerWithin, cursor }: ExamineOptions,
): Promise<DoctorReport> {
  const started = clock();
  const answerBy = started + (answerWithin ?? Number.POSITIVE_INFINITY);
  let { check: index, left, walk } = cursor === undefined ? firstPosition(budget) : positionOf(cursor);
  const checks: DoctorCheck[] = [];
  const connection = await DoctorConnection.open(databaseUrl, clock);
  try {
    for (;;) {
      const check = CHECKS[index]!;
      walk ??= firstWalk(check, index, left);
      const from = clock();
      const deadline = walk.left === undefined ? Number.POSITIVE_INFINITY : from + walk.left;
      const context = { projectId, databaseUrl, keyId, connection, certificate, deadline };
      const state = await walkUntil(context, check, walk, clock, answerBy);
      const spent = clock() - from;
      left = left === undefined ? undefined : Math.max(0, left - spent);
      walk.left = walk.left === undefined ? undefined : Math.max(0, walk.left - spent);
      if (state !== "answer") {
        checks.push(resultOf(check, walk, state === "done"));
        index += 1;
        walk = undefined;
      }
      if (index === CHECKS.length) return reportOf(checks, null, null);
      if (state === "answer" || clock() >= answerBy) {
        const next = encodeCursor({ check: index, left, walk });
        const ongoing = CHECKS[index]!;
        return reportOf(checks, { name: ongoing.name, message: coverage(ongoing, walk) }, next);
      }
    }
  } finally {
    await connection.close();
  }
}

function reportOf(
  checks: DoctorCheck[],
  progress: DoctorReport["progress"],
  next: string | null,
): DoctorReport {
  return { ok: checks.every(({ ok }) => ok), checks, progress, next };
}

function firstPosition(budget: number | undefined) {
  return { check: 0, left: budget, walk: undefined as Walk | undefined };
}

function positionOf(cursor: string) {
  const position = decodeCursor(cursor);
  if (position !== undefined && position.check < CHECKS.length) return position;
  throw new PlimsollError("bad_request", "This cursor is not from a doctor report. Start again without one.");
}

function firstWalk(check: Check, index: number, left: number | undefined): Walk {
  const weights = CHECKS.slice(index).reduce((sum, { weight }) => sum + weight, 0);
  return {
    position: undefined,
    size: check.size,
    left: left === undefined ? undefined : (left * check.weight) / weights,
    examined: 0,
    waiting: 0,
    of: undefined,
    faults: 0,
    named: [],
    message: undefined,
  };
}

/** Takes steps until all is examined, the time of the check is over, or the answer is due. */
async function walkUntil(
  context: Parameters<Check["step"]>[0],
  check: Check,
  walk: Walk,
  clock: () => number,
  answerBy: number,
): Promise<"done" | "out_of_time" | "answer"> {
  for (;;) {
    const from = clock();
    if (from >= context.deadline) return "out_of_time";
    try {
      const step = await check.step(context, walk.position, walk.size);
      walk.position = step.next;
      walk.examined += step.examined;
      walk.waiting += step.waiting ?? 0;
      walk.of = step.of ?? walk.of;
      walk.message = step.message;
      walk.faults += step.faults.length;
      walk.named.push(...step.faults.slice(0, NAMED - walk.named.length));
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
      // A smaller step may still fit.
      if (walk.size === 1 || clock() >= context.deadline) return "out_of_time";
      walk.size = Math.max(1, walk.size >> 2);
      continue;
    }
    if (walk.position === undefined) return "done";
    const took = clock() - from;
    if (took < STEP_MS.least) walk.size = Math.min(check.maxSize, 2 * walk.size);
    else if (took > STEP_MS.most) walk.size = Math.max(1, walk.size >> 1);
    if (clock() >= answerBy) return "answer";
  }
}

function resultOf(check: Check, walk: Walk, complete: boolean): DoctorCheck {
  const hasUnits = check.units !== undefined;
  return {
    name: check.name,
    ok: walk.faults === 0,
    note: check.note ?? false,
    message: messageOf(check, walk, complete),
    examined: hasUnits ? walk.examined : null,
    of: hasUnits ? (walk.of ?? null) : null,
    complete,
  };
}

function messageOf(check: Check, walk: Walk, complete: boolean): string {
  const { faults, named, message, waiting } = walk;
  const more = faults > named.length ? `; and ${count(faults - named.length)} more` : "";
  const differences = faults === 0 ? "no difference" : `${count(faults)} differ: ${named.join("; ")}${more}`;
  const later = waiting === 0 ? "" : `; ${count(waiting)} ${waiting === 1 ? "waits" : "wait"} for upkeep`;
  if (check.units !== undefined) return `${coverage(check, walk)}, ${differences}${later}.`;
  if (!complete) return "Not finished in the time for this check.";
  return faults === 0 ? (message ?? "No difference.") : `${named.join("; ")}${more}.`;
}

function coverage({ units }: Check, walk: Walk | undefined): string {
  if (units === undefined) return "";
  if (walk?.of === undefined) return `0 ${units.plural} ${units.done}`;
  return `${count(walk.examined)} of ${count(Math.max(walk.of, walk.examined))} ${units.plural} ${units.done}`;
}
