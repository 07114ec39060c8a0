import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { catalogWindow } from "@plimsoll/fold";
import type {
  BridgePlan,
  Difference,
  Fields,
  HarnessAdapter,
  Known,
  Places,
  SettingsLayer,
} from "@plimsoll/harnesses/bridge";
import { type HarnessLine, lineValue, policyLine } from "@plimsoll/harnesses/bridge";
import { pathText } from "@plimsoll/harnesses/fields";
import type { PolicyAnswer } from "@plimsoll/protocol/api";
import type { PolicyAckEvent } from "@plimsoll/protocol/events";
import { followedPolicy } from "../reinject/followed-policy.ts";
import { parseSettings, UnreadableSettings } from "./edit/edit.ts";
import { hasHook, lastNote } from "./hook.ts";
import { writeRecordFile } from "./journal.ts";
import { layerFiles, layerOf } from "./layers.ts";
import { sessionFiles } from "./newest-session.ts";
import { planFor } from "./plan.ts";
import { processesOf, type RunningProcess } from "./processes.ts";
import { readSettingsFile, SettingsFileError } from "./settings-file.ts";
import { editFor, readSettings, type SettingsReading, writeEdit } from "./settings-session.ts";
import { hasShownLine } from "./shown-line.ts";

/** One settings file of one harness. */
export interface BridgeTarget {
  adapter: HarnessAdapter;
  path: string;
  places: Places;
  /** Folder for the bridge's records. */
  home: string;
  model?: string | undefined;
  windowTokens?: number | undefined;
  /** Sets keys again that somebody changed, whatever the policy says. */
  putBack: boolean;
  /** The settings are those of an administrator, for everyone on this machine. */
  managed?: boolean;
}

/** What to acknowledge of a policy. */
export interface BridgeReport {
  status: Exclude<PolicyAckEvent["status"], "received">;
  code?: Difference["code"];
  message?: string;
  effective?: PolicyAnswer["settings"];
  differences?: readonly Difference[];
  /** Where the harness compacts; undefined if its settings cannot be read. */
  line?: HarnessLine;
  /** Keys that were changed now. */
  written: readonly string[];
}

/** A session may have read its settings this long before its hook runs, in ms. */
const START_MS = 5_000;
/** How often a file that somebody else is writing is tried again. */
const ATTEMPTS = 5;
/** Time between two reads of a file that is not valid, in ms. */
const UNREADABLE_MS = 50;

/** Permission bits of a file that every user of a machine reads. */
const FOR_EVERYONE = 0o644;

/** Puts a policy into the settings of a harness and says what became of it. Writes only what is not there yet. */
export async function applyPolicy(
  target: BridgeTarget,
  policy: PolicyAnswer,
  now: () => number,
): Promise<BridgeReport> {
  const { adapter } = target;
  if (adapter.control === "none")
    return {
      status: "rejected",
      code: "unsupported",
      message: `${adapter.name} has no setting for its line. ${adapter.instead}`,
      written: [],
    };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await applyOnce(target, policy, now);
    } catch (error) {
      const isRace = error instanceof SettingsFileError && error.reason === "changed_meanwhile";
      if (isRace && attempt < ATTEMPTS) continue;
      // Somebody may be in the middle of a write.
      if (error instanceof UnreadableSettings && attempt < ATTEMPTS) {
        await pause(UNREADABLE_MS);
        continue;
      }
      if (!(error instanceof SettingsFileError) && !(error instanceof UnreadableSettings)) throw error;
      const message =
        error instanceof UnreadableSettings
          ? `${target.path} is not valid ${adapter.format.toUpperCase()}: ${error.message} It was not changed.`
          : error.message;
      return { status: "rejected", code: "apply_failed", message: message.slice(0, 500), written: [] };
    }
  }
}

async function applyOnce(
  target: BridgeTarget,
  policy: PolicyAnswer,
  now: () => number,
): Promise<BridgeReport> {
  const { adapter } = target;
  if (adapter.reinjects) {
    const { folder, name } = followedPolicy(target.home, adapter.family);
    await writeRecordFile(folder, name, policy.settings);
  }
  const processes = await runningOf(target, now());
  const reading = await readSettings(adapter, target.path, target.home);
  const known = await knownOf(target, reading.own, processes);
  const plan = planFor(adapter, policy.settings, reading.own, known);
  const putBack = target.putBack || policy.settings.bridge?.drift === "put_back";
  const edit = editFor(adapter, reading, plan.changes, putBack);
  await writeEdit(adapter, reading, edit, now(), target.managed ? FOR_EVERYONE : undefined);
  const written = edit.edits.map(pathText);
  if (!putBack && reading.drifted.length > 0) return { ...drift(target, policy, reading, known), written };
  const since = written.length > 0 ? now() : reading.journal?.at;
  const progress = await progressOf(target, reading, policy, { since, processes, line: plan.line });
  return { ...reportOf(plan, progress, policy), written };
}

/** How far a harness is with its settings: no session has read them, one has, or a compaction showed the line. */
type Progress = "unread" | "read" | "shown";

function reportOf(
  { differences, effective, line }: BridgePlan,
  progress: Progress,
  { settings }: PolicyAnswer,
): Omit<BridgeReport, "written"> {
  const facts = {
    line,
    ...(effective !== undefined && { effective }),
    ...(differences.length > 0 && { differences }),
  };
  const override = differences.find(({ code }) => code === "local_override");
  // What wins over the file is in force, whether the harness has read the file or not.
  if (override !== undefined) return { status: "overridden", code: override.code, ...facts };
  if (progress === "unread")
    return { status: "written", line, ...(differences.length > 0 && { differences }) };
  if (differences.length === 0 && progress === "shown") return { status: "applied", ...facts };
  if (differences.length === 0)
    return {
      status: "written",
      ...facts,
      effective: effective ?? { thresholds: { ...settings.thresholds } },
    };
  return { status: "overridden", code: differences[0]!.code, ...facts };
}

/** Somebody changed a key of the bridge, so that value is in force. */
function drift(
  { adapter, path }: BridgeTarget,
  policy: PolicyAnswer,
  { settings, drifted }: SettingsReading,
  known: Known,
): Omit<BridgeReport, "written"> {
  const { line } = adapter.line(settings, known);
  const value = lineValue(line);
  const wanted = policyLine(policy.settings, known.windowTokens);
  const differences: Difference[] = drifted.map((key) => ({
    path: pathText(key),
    code: "drifted",
    wanted: key.written as number | boolean,
    effective: settingText(key.found),
    by: path.slice(-200),
  }));
  if (wanted.kind === "line" && value !== undefined) {
    const asked = wanted.wanted.value;
    differences.unshift({
      path: wanted.wanted.path,
      code: "drifted",
      wanted: typeof asked === "object" ? { ...asked } : asked,
      effective: typeof value === "object" && value !== null ? { ...value } : value,
      by: path.slice(-200),
    });
  }
  return {
    status: "overridden",
    code: "drifted",
    message: `Somebody changed ${drifted.map(pathText).join(", ")} in ${path}.`.slice(0, 500),
    line,
    differences,
    ...(value !== undefined && { effective: { thresholds: { ceiling: value } } }),
  };
}

function settingText(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  return typeof value === "number" || typeof value === "boolean" ? value : String(value).slice(0, 200);
}

/** What is known of a harness: its model and window, settings that win, and its running processes. */
export async function knownOf(
  target: BridgeTarget,
  settings: Fields,
  processes: readonly RunningProcess[],
): Promise<Known> {
  const { adapter, places } = target;
  const model = target.model ?? adapter.model?.(settings);
  const windowTokens =
    target.windowTokens ??
    adapter.window?.(settings, model) ??
    (model === undefined ? undefined : catalogWindow(model));
  return {
    model: adapter.hasModelSettings ? target.model : model,
    windowTokens,
    env: places.env,
    ...(await readLayers(target)),
    commandLines: processes.map(({ words }) => words),
  };
}

/** The processes that read the settings of a target. */
export const runningOf = ({ adapter, places, managed }: BridgeTarget, now: number) =>
  processesOf(adapter, managed ? { ...places, home: undefined } : places, now);

/** A layer that cannot be read overrides nothing that could be named. */
async function readLayers({
  adapter,
  places,
  path,
  managed,
}: BridgeTarget): Promise<Pick<Known, "layers" | "weaker">> {
  const own = await readSettingsFile(path).catch(() => undefined);
  const layers: SettingsLayer[] = [];
  const weaker: SettingsLayer[] = [];
  let isBelow = false;
  for (const file of [
    ...layerFiles(adapter, places, managed ? path : undefined),
    ...(managed ? [{ path: adapter.settingsFile(places) }] : []),
  ]) {
    try {
      const { text, realPath } = await readSettingsFile(file.path);
      if (realPath === own?.realPath) isBelow = managed === true;
      else if (text !== undefined)
        (isBelow ? weaker : layers).push(layerOf(file, parseSettings(adapter.format, text)));
    } catch {}
  }
  return { layers, ...(managed && { weaker }) };
}

async function progressOf(
  target: BridgeTarget,
  reading: SettingsReading,
  policy: PolicyAnswer,
  {
    since,
    processes,
    line,
  }: { since: number | undefined; processes: readonly RunningProcess[]; line: HarnessLine },
): Promise<Progress> {
  const asks = policyLine(policy.settings, undefined).kind === "line" || since !== undefined;
  if (!asks) return "shown";
  if (since !== undefined && !(await hasSeen(target, reading, since, processes))) return "unread";
  const { adapter, places } = target;
  if (line.kind !== "tokens" || adapter.sessions === undefined) return "read";
  const { latest } = await sessionFiles(adapter.sessions(places));
  const proof = { line: line.tokens, since: since ?? 0, folder: reading.folder };
  return (await hasShownLine(adapter.family, latest, proof)) ? "shown" : "read";
}

/**
 * Whether the harness has read its settings since a time: its hook said so, or it was started later. Sessions of a process that is
 * older than the change keep their line, so a new session proves nothing while one runs.
 */
async function hasSeen(
  { adapter, places }: BridgeTarget,
  { folder, file }: SettingsReading,
  since: number,
  processes: readonly RunningProcess[],
): Promise<boolean> {
  if (adapter.hook && hasHook(file.text, folder) && ((await lastNote(folder)) ?? 0) > since + START_MS)
    return true;
  // Start times are exact to a second.
  if (processes.some(({ startedAt }) => startedAt > since + 1_000)) return true;
  if (processes.length > 0 || adapter.sessions === undefined) return false;
  return ((await sessionFiles(adapter.sessions(places))).createdAt ?? 0) > since;
}

/** Whether a harness is on this machine: one of its folders, or its settings file. */
export async function isInstalled(adapter: HarnessAdapter, places: Places): Promise<boolean> {
  for (const path of [...adapter.folders(places), adapter.settingsFile(places)]) {
    if ((await stat(path).catch(() => undefined)) !== undefined) return true;
  }
  return false;
}
