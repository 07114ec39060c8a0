import type { Control, HarnessAdapter, HarnessLine } from "@plimsoll/harnesses/bridge";
import { withChanges } from "@plimsoll/harnesses/fields";
import type { PolicyAnswer } from "@plimsoll/protocol/api";
import { createTwoFilesPatch } from "diff";
import { number } from "../number-format.ts";
import type { TableRow } from "../table.ts";
import { type BridgeTarget, knownOf, runningOf } from "./harness-bridge.ts";
import { planFor } from "./plan.ts";
import { editFor, readSettings } from "./settings-session.ts";

export const OVERVIEW_HEAD = ["HARNESS", "CONTROL", "SETTINGS", "LINE NOW", "LINE AFTER"] as const;

export const CONTROL_TEXT: Record<Control, string> = {
  next_session: "next session",
  on_off: "on/off",
  none: "none",
};

export function lineText(line: HarnessLine): string {
  if (line.kind === "tokens") return `${number(line.tokens)} tokens`;
  if (line.kind === "share") return `${Number((line.share * 100).toFixed(2))}%`;
  return line.kind === "off" ? "off" : "unknown";
}

/** A line of the table of harnesses. Files are read and not written. */
export async function overviewRow(
  target: BridgeTarget,
  policy: PolicyAnswer | undefined,
  now: number,
): Promise<TableRow> {
  const { adapter } = target;
  const start = [adapter.family, CONTROL_TEXT[adapter.control]];
  if (adapter.control === "none") return { cells: [...start, "-", "unknown", "unchanged"] };
  try {
    const { current, after } = await linesOf(target, policy, now);
    const next = after === undefined ? "-" : lineText(after);
    return { cells: [...start, shortPath(target), lineText(current), next] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { cells: [...start, shortPath(target), "unreadable", why], warn: true };
  }
}

async function linesOf(target: BridgeTarget, policy: PolicyAnswer | undefined, now: number) {
  const { adapter } = target;
  const reading = await readSettings(adapter, target.path, target.home);
  const known = await knownOf(target, reading.own, await runningOf(target, now));
  const current = adapter.line(reading.settings, known).line;
  if (policy === undefined || policy.generation === 0) return { current, after: undefined };
  const plan = planFor(adapter, policy.settings, reading.own, known);
  const putBack = target.putBack || policy.settings.bridge?.drift === "put_back";
  const { edits } = editFor(adapter, reading, plan.changes, putBack);
  return { current, after: adapter.line(withChanges(reading.settings, edits), known).line };
}

/** The changes of the settings file, one line each. */
export async function dryRun(target: BridgeTarget, policy: PolicyAnswer, now: number): Promise<string[]> {
  const { adapter, path } = target;
  const reading = await readSettings(adapter, path, target.home);
  const known = await knownOf(target, reading.own, await runningOf(target, now));
  const plan = planFor(adapter, policy.settings, reading.own, known);
  const putBack = target.putBack || policy.settings.bridge?.drift === "put_back";
  const { edits, text } = editFor(adapter, reading, plan.changes, putBack);
  const lines =
    edits.length === 0 ? [`${path} needs no change.`] : diffLines(path, reading.file.text ?? "", text);
  return [...lines, ...plan.differences.map((difference) => differenceText(adapter, difference))];
}

/** A unified diff of two texts of a file, one line each. */
export function diffLines(path: string, before: string, after: string): string[] {
  const patch = createTwoFilesPatch(path, path, before, after, undefined, undefined, { context: 1 });
  // The first line is a ruler.
  return patch.trimEnd().split("\n").slice(1);
}

export function differenceText(
  { name }: HarnessAdapter,
  {
    path,
    code,
    wanted,
    effective,
    by,
  }: { path: string; code: string; wanted?: unknown; effective?: unknown; by?: string },
): string {
  const asked = wanted === undefined ? "" : ` asks for ${valueText(wanted)}`;
  const real = effective === undefined ? "" : `, ${name} will have ${valueText(effective)}`;
  return `${path}${asked}${real} (${code}${by === undefined || by === name ? "" : `: ${by}`})`;
}

function valueText(value: unknown): string {
  if (typeof value === "number") return number(value);
  return value === null ? "off" : typeof value === "string" ? value : JSON.stringify(value);
}

function shortPath({ path, places }: BridgeTarget): string {
  return path.startsWith(`${places.home}/`) ? `~${path.slice(places.home.length)}` : path;
}
