import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { HarnessFile } from "@plimsoll/harnesses/connect";
import { at, pathText, searchText } from "@plimsoll/harnesses/fields";
import { parseSettings, UnreadableSettings } from "../bridge/edit/edit.ts";
import { PROGRAM } from "../bridge/hook-file.ts";
import { layerFiles } from "../bridge/layers.ts";
import { modeFor, readSettingsFile } from "../bridge/settings-file.ts";
import {
  editFor,
  readSettings,
  type SettingsEdit,
  type SettingsReading,
} from "../bridge/settings-session.ts";
import { forwarderUrl, freePort } from "../forward/port.ts";
import type { RepositoryMode } from "../origin/repository.ts";
import { changesOf, ownFunctions, type SettingsConflict } from "./conflicts.ts";
import { adapterOf, type PathQuery, pathOf, variablesFolder } from "./harness-paths.ts";
import { hookSettings, passingProgram } from "./hook-settings.ts";
import { type ConnectionRecord, readRecord } from "./record.ts";
import { hasStatusLine, statusLineSetting, withStatusLineFlags } from "./status-line-setting.ts";

/** Stands for a key in a preview, because none is made before somebody agreed. */
export const NEW_KEY = "plim_NEW_KEY";

/** One file of a connection, as it is and as it will be. */
export interface FileChange {
  file: HarnessFile;
  path: string;
  reading: SettingsReading;
  edit: SettingsEdit;
  conflicts: readonly SettingsConflict[];
}

/** What a connection would change. */
export interface ConnectionPlan {
  files: readonly FileChange[];
  /** Where the record of the connection is. */
  folder: string;
  record: ConnectionRecord | undefined;
  /** Whether the level is in the status line already. */
  hasStatusLine: boolean;
  /** The ingest key that the files hold for this server. */
  key: string | undefined;
  /** Port of the forwarder, if the harness reports through one. */
  forwardPort: number | undefined;
  /** Files that its hooks and its status line start. */
  program: readonly string[];
  conflicts: readonly (SettingsConflict & { file: string })[];
  /** What may keep the harness from using the settings, in sentences. */
  warnings: readonly string[];
}

export interface PlanQuery extends PathQuery {
  url: string;
  host: string;
  /** Undefined if the key that is there, or a new one, should serve. */
  key: string | undefined;
  /** Adds the level to Claude Code's status line. One that is there stays. */
  statusLine: boolean;
  /** How hooks name the repository of a session. Undefined leaves it as it is. */
  repository?: RepositoryMode | undefined;
  /** Adds hooks that report why a level fell, if the harness has any. */
  hooks: boolean;
}

/**
 * Reads the files of a harness and plans what a connection changes in them. Writes nothing.
 * @throws CliError, SettingsFileError or UnreadableSettings
 */
export async function planConnection(query: PlanQuery): Promise<ConnectionPlan> {
  const { harness, places, home } = query;
  const folder = variablesFolder(home);
  const filesFor = (url: string) => (key: string) => harness.files({ url, host: query.host, key, folder });
  const toServer = filesFor(query.url);
  const readings = new Map<string, { path: string; reading: SettingsReading }>();
  for (const { id, format } of toServer(NEW_KEY)) {
    const path = pathOf(id, query);
    const owner = { family: harness.family, format };
    readings.set(id, { path, reading: await readNamed(owner, path, home) });
  }
  const first = [...readings.values()][0]!.reading;
  const record = await readRecord(first.folder);
  const forwardPort =
    harness.forwards && query.hooks ? (record?.forwardPort ?? (await freePort(first.folder))) : undefined;
  const endpoint = forwardPort === undefined ? query.url : forwarderUrl(forwardPort);
  const known = [endpoint, query.url, ...(record?.forwardPort ? [forwarderUrl(record.forwardPort)] : [])];
  const kept = known.map((url) => keyIn(url, filesFor(url), readings)).find((found) => found !== undefined);
  const key = query.key ?? kept ?? NEW_KEY;
  const direct = toServer(key);
  const files = filesFor(endpoint)(key).map((file): FileChange => {
    const { path, reading } = readings.get(file.id)!;
    const entries = reading.journal?.entries ?? [];
    // Settings that a person wrote for this server may go through the forwarder too.
    const own = [
      ...entries.map(({ path: where, after }) => ({ path: where, value: after })),
      ...(forwardPort === undefined ? [] : direct.find(({ id }) => id === file.id)!.settings),
    ];
    const isOurs = (where: readonly string[]) =>
      own.some(
        (one) =>
          isDeepStrictEqual(one.path, where) && isDeepStrictEqual(one.value, at(reading.settings, where)),
      );
    const hasLine = hasStatusLine(reading.journal, reading.settings);
    const isLined = harness.statusLine === true && (query.statusLine || hasLine);
    const settings = [
      ...file.settings,
      ...(isLined ? [statusLineSetting(PROGRAM, reading.journal, reading.settings)] : []),
      ...(file.id === "settings" && query.hooks
        ? hookSettings(harness, PROGRAM, first.folder, reading.settings)
        : []),
    ];
    const wanted = { ...file, settings };
    const { changes, conflicts } = changesOf(wanted, reading.settings, isOurs);
    const functions =
      file.id === "profile"
        ? file.settings.flatMap((one) => ownFunctions(one.path[0]!, reading.file.text ?? ""))
        : [];
    return {
      file,
      path,
      reading,
      edit: editFor(file, reading, changes, true),
      conflicts: [...conflicts, ...functions],
    };
  });
  return {
    files,
    folder: first.folder,
    record,
    hasStatusLine: hasStatusLine(first.journal, first.settings),
    key: query.key === NEW_KEY ? undefined : (query.key ?? kept),
    forwardPort,
    program: startsProgram(files) ? PROGRAM : [],
    conflicts: files.flatMap(({ path, conflicts }) =>
      conflicts.map((conflict) => ({ ...conflict, file: path })),
    ),
    warnings: await warningsFor(query, files, places),
  };
}

/** Like `readSettings`, with the file in its message. */
export async function readNamed(
  owner: { family: string; format: HarnessFile["format"] },
  path: string,
  home: string,
): Promise<SettingsReading> {
  try {
    return withStatusLineFlags(await readSettings(owner, path, home, "connect"));
  } catch (error) {
    if (!(error instanceof UnreadableSettings)) throw error;
    throw new UnreadableSettings(`${path} is not valid ${owner.format.toUpperCase()}: ${error.message}`);
  }
}

const mentions = (value: unknown, ...parts: string[]) =>
  parts.some((part) => searchText(value).includes(part));

/** Whether a hook or a status line starts this program. */
const startsProgram = (files: readonly FileChange[]) =>
  files.some(({ edit }) =>
    edit.entries.some(({ after }) => mentions(after, " --connection ", " statusline")),
  );

/** The key that the settings hold for this server. */
function keyIn(
  url: string,
  filesWith: (key: string) => readonly HarnessFile[],
  byFile: ReadonlyMap<string, { reading: SettingsReading }>,
): string | undefined {
  for (const { reading } of byFile.values()) {
    const { settings } = reading;
    const keys = new Set(searchText(settings).match(/plim_\w+/g) ?? []);
    for (const key of keys) {
      const isHere = filesWith(key).every(({ id, settings: wanted }) =>
        wanted.every(
          ({ path, value }) =>
            !mentions(value, key, url) ||
            isDeepStrictEqual(at(byFile.get(id)!.reading.settings, path), value),
        ),
      );
      if (isHere) return key;
    }
  }
  return undefined;
}

async function warningsFor(
  { harness, scope }: PathQuery,
  files: readonly FileChange[],
  places: PathQuery["places"],
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { path, reading, edit } of files) {
    const { access } = reading.file;
    if (
      access !== undefined &&
      modeFor(edit.text, access.mode) !== access.mode &&
      process.platform !== "win32"
    )
      warnings.push(
        `${path} will hold the key, so only its owner can read it from then on. npx plimsoll disconnect restores its permissions.`,
      );
  }
  const passing = startsProgram(files) ? passingProgram(PROGRAM) : undefined;
  if (passing !== undefined) warnings.push(passing);
  const { hooksSwitch } = harness;
  if (hooksSwitch !== undefined && files.some(({ reading }) => at(reading.settings, hooksSwitch) === true))
    warnings.push(
      `${pathText({ path: hooksSwitch })} is set, so ${harness.name} runs neither hooks nor a status line: compactions may stay without numbers.`,
    );
  const names = harness.winningVariables?.(places.env) ?? [];
  if (names.length > 0)
    warnings.push(
      `${harness.name} prefers variables of the shell to these settings: ${names.join(", ")}. Unset them.`,
    );
  const hiding = scope === "user" ? adapterOf(harness).hidingEnvFile?.(places, existsSync) : undefined;
  if (hiding !== undefined)
    warnings.push(
      `In this folder ${harness.name} loads ${hiding} only, so it sends no key. Use --project here.`,
    );
  return [...warnings, ...(await layerWarnings({ harness, places }, files))];
}

/** Settings of an organization or a project that win over those of a connection. */
async function layerWarnings(
  { harness, places }: Pick<PathQuery, "harness" | "places">,
  files: readonly FileChange[],
): Promise<string[]> {
  const own = files.find(({ file }) => file.id === "settings");
  if (own === undefined) return [];
  const warnings: string[] = [];
  const adapter = adapterOf(harness);
  for (const { path: layer } of layerFiles(adapter, places)) {
    if (harness.ignoresProject && layer.startsWith(places.project)) continue;
    try {
      const { text, realPath } = await readSettingsFile(layer);
      if (text === undefined || files.some(({ reading }) => reading.file.realPath === realPath)) continue;
      const settings = parseSettings(adapter.format, text);
      const names = own.file.settings
        .filter(({ path, value, mode }) => {
          const found = at(settings, path);
          return mode === undefined && found !== undefined && !isDeepStrictEqual(found, value);
        })
        .map(pathText);
      if (names.length > 0) warnings.push(`${layer} wins over these settings: ${names.join(", ")}.`);
    } catch {
      // A layer that cannot be read overrides nothing that could be named.
    }
  }
  return warnings;
}
