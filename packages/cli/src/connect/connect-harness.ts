import { rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { GuardError } from "@plimsoll/guard";
import { type Lock, lockFile } from "@plimsoll/guard/node";
import { settingsText } from "@plimsoll/harnesses/connect";
import { pathText } from "@plimsoll/harnesses/fields";
import { UnreadableSettings } from "../bridge/edit/edit.ts";
import { readJournal } from "../bridge/journal.ts";
import { diffLines } from "../bridge/overview.ts";
import {
  assertWritable,
  requireSafeFolder,
  SettingsFileError,
  type SettingsText,
} from "../bridge/settings-file.ts";
import { readSettings, undo, writeEdit } from "../bridge/settings-session.ts";
import type { Client } from "../client.ts";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { printable, printableLines } from "../terminal.ts";
import type { SettingsConflict } from "./conflicts.ts";
import { clientOf, dropKey, keyRefusal, makeKey } from "./key.ts";
import { maskedText } from "./masked-text.ts";
import { type ConnectionPlan, type FileChange, NEW_KEY, type PlanQuery, planConnection } from "./plan.ts";
import { writeRecord } from "./record.ts";

/** How a harness is to be connected. */
export interface ConnectOptions {
  /** Makes and revokes keys. */
  client: Client;
  /** A key to use in place of a new one. */
  ingestKey: string | undefined;
  /** Plimsoll project of a new key. */
  project: string | undefined;
  /** Writes without asking. */
  yes: boolean;
  /** Replaces settings of somebody else. */
  replace: boolean;
}

export const CONNECT_OUTCOMES = ["connected", "unchanged", "conflict", "declined"] as const;
export type ConnectOutcome = (typeof CONNECT_OUTCOMES)[number];

/**
 * Shows what a connection changes, asks, and writes it.
 * @throws CliError if the server, a key or a file prevents it; then nothing has changed
 */
export async function connectHarness(
  given: Omit<PlanQuery, "key">,
  options: ConnectOptions,
  context: CommandContext,
): Promise<ConnectOutcome> {
  const { out } = context;
  const { harness } = given;
  let query = given;
  let plan = await plannedWith(query, options.ingestKey);
  if (await wantsStatusLine(query, plan, context)) {
    query = { ...query, statusLine: true };
    plan = await plannedWith(query, options.ingestKey);
  }
  if (options.ingestKey !== undefined) await assertAccepted(query.url, options.ingestKey);
  const isMoved =
    options.project !== undefined && plan.record !== undefined && plan.record.project !== options.project;
  const isDead =
    options.ingestKey === undefined &&
    plan.key !== undefined &&
    (await keyRefusal(query.url, plan.key)) !== undefined;
  if (isDead || (isMoved && options.ingestKey === undefined)) plan = await plannedWith(query, NEW_KEY);
  if (isDead) out.write("The server rejects the key in the settings, so a new one is needed.\n");
  for (const line of previewLines(plan)) out.write(`${line}\n`);
  if (
    plan.conflicts.length > 0 &&
    (!options.replace || plan.conflicts.some(({ reason }) => reason === "own_function"))
  ) {
    for (const line of conflictLines(plan)) out.write(`${printable(line)}\n`);
    return "conflict";
  }
  if (isComplete(plan, query)) {
    out.write(`${harness.name} is connected to ${printable(query.url)}. Nothing to change.\n`);
    return "unchanged";
  }
  if (!options.yes && !(await agrees(`Connect ${harness.name}? [y/N] `, context))) return "declined";
  await withClaim(plan.folder, () => write(query, plan, options, context));
  return "connected";
}

/** Nobody is asked who connects with a flag, or who has it. */
async function wantsStatusLine(
  query: Omit<PlanQuery, "key">,
  plan: ConnectionPlan,
  { ask }: CommandContext,
): Promise<boolean> {
  const { harness, statusLine } = query;
  if (!harness.statusLine || statusLine || plan.hasStatusLine || ask === undefined) return false;
  if (isComplete(plan, query)) return false;
  const answer = await ask(
    `Show the level in ${harness.name}'s status line too? What is there stays. [y/N] `,
  );
  return isYes(answer);
}

const isYes = (answer: string) => /^y(es)?$/i.test(answer.trim());

const plannedWith = async (
  query: Omit<PlanQuery, "key">,
  key: string | undefined,
): Promise<ConnectionPlan> => {
  try {
    return await planConnection({ ...query, key });
  } catch (error) {
    throw explained(error);
  }
};

/** The settings of a harness with a forwarder do not name the server. */
const isComplete = (plan: ConnectionPlan, { url, repository }: Pick<PlanQuery, "url" | "repository">) =>
  plan.files.every(({ edit }) => edit.edits.length === 0) &&
  plan.record?.url === url &&
  (repository ?? plan.record.repository ?? "off") === (plan.record.repository ?? "off");

/** How hooks name repositories, for the record: as asked for, else as before. */
function repositoryOf({ repository }: Pick<PlanQuery, "repository">, { record }: ConnectionPlan) {
  const mode = repository ?? record?.repository ?? "off";
  return mode === "off" ? {} : { repository: mode };
}

/** @throws CliError if the server takes no telemetry with this key */
export async function assertAccepted(url: string, key: string): Promise<void> {
  const said = await keyRefusal(url, key);
  if (said === undefined) return;
  throw new CliError(`${url} rejects this ingest key: ${said}`, {
    hint: "Create one with: npx plimsoll key create --scope ingest",
  });
}

async function agrees(question: string, { ask }: CommandContext): Promise<boolean> {
  if (ask === undefined)
    throw new CliError(
      "Nobody can answer the question, because standard input is no terminal. Nothing was written.",
      {
        hint: "Pass --yes to write without asking, or --print to see the settings.",
      },
    );
  return isYes(await ask(question));
}

/** The files with their changes, without secrets. */
function previewLines({ files, warnings }: ConnectionPlan): string[] {
  const lines = files.flatMap(({ path, reading, edit }) =>
    edit.edits.length === 0
      ? []
      : diffLines(path, reading.file.text ?? "", edit.text).map((line) => printable(maskedText(line))),
  );
  return [...lines, ...warnings.map((warning) => `Note: ${printable(warning)}`)];
}

const CONFLICT_TEXT: Record<SettingsConflict["reason"], (key: string, value: string) => string> = {
  other_exporter: (key, value) => `${key} is already set${value}.`,
  other_server: (key, value) => `${key} is already set${value}, for another Plimsoll server or key.`,
  own_function: (key) =>
    `${key} has an alias or a function of yours, which hides the one that Plimsoll would add.`,
};

function conflictLines({ conflicts, files }: ConnectionPlan): string[] {
  const lines = conflicts.map(
    ({ file, path, reason, found }) =>
      `Conflict in ${file}: ${CONFLICT_TEXT[reason](pathText({ path }), found === undefined ? "" : ` to ${JSON.stringify(maskedText(found))}`)}`,
  );
  const isReplaceable = conflicts.every(({ reason }) => reason !== "own_function");
  const more = isReplaceable
    ? "Remove these settings, or replace them with --replace; plimsoll disconnect puts them back. To send to both, point the exporter of an OpenTelemetry collector at Plimsoll."
    : "Remove it, or print the variables with --print and add them to it.";
  return [...lines, `Nothing was written to ${files.length === 1 ? "the file" : "the files"}. ${more}`];
}

async function write(
  query: Omit<PlanQuery, "key">,
  previewed: ConnectionPlan,
  options: ConnectOptions,
  context: CommandContext,
): Promise<void> {
  const { out, now } = context;
  // Before a key is made, so that a refusal leaves none behind.
  assertSame(previewed, await plannedWith(query, previewed.key ?? NEW_KEY));
  for (const { reading, edit } of previewed.files) {
    await requireSafe(dirname(reading.file.realPath));
    if (edit.edits.length > 0) requireWritable(reading.file);
  }
  const name = `${query.harness.family}@${query.host}`;
  const made = previewed.key === undefined ? await makeKey(options.client, name) : undefined;
  try {
    const plan = await plannedWith(query, previewed.key ?? made?.secret);
    assertSame(previewed, plan);
    await writeAll(query, plan, now());
    await writeRecord(plan.folder, {
      version: 1,
      family: query.harness.family,
      scope: query.scope,
      url: query.url,
      project: options.project ?? (made === undefined ? (plan.record?.project ?? null) : null),
      key: made ?? (options.ingestKey === undefined ? (plan.record?.key ?? null) : null),
      host: query.host,
      ...repositoryOf(query, plan),
      ...(plan.forwardPort !== undefined && { forwardPort: plan.forwardPort }),
      program: [...plan.program],
      files: plan.files.map(({ file, reading }) => ({ id: file.id, path: reading.file.realPath })),
      at: now(),
    });
    await sayWritten(plan, made, context);
    await dropOldKey(plan, made !== undefined || options.ingestKey !== undefined, context);
  } catch (error) {
    if (made !== undefined && !(await dropKey(options.client, made.id)))
      out.write(
        `The new key ${made.prefix} could not be revoked. Revoke it with: npx plimsoll key revoke ${made.id}\n`,
      );
    throw explained(error);
  }
}

/** A person agreed to a diff, so another text must not get it. */
function assertSame(before: ConnectionPlan, after: ConnectionPlan): void {
  const changed = before.files.find(
    ({ reading }, index) => reading.file.text !== after.files[index]!.reading.file.text,
  );
  if (changed !== undefined)
    throw new CliError(`${changed.path} was changed after the diff was shown. Nothing was written.`, {
      hint: "Run the command again to see what it would change now.",
    });
}

/** Writes every file or none. */
async function writeAll(
  { harness, home }: Omit<PlanQuery, "key">,
  { files }: ConnectionPlan,
  now: number,
): Promise<void> {
  const written: FileChange[] = [];
  try {
    for (const planned of files) {
      await writeEdit(harness, planned.reading, planned.edit, now);
      written.push(planned);
    }
  } catch (error) {
    for (const { file, path, reading } of written.reverse()) {
      // What was connected before goes on as it was.
      if (reading.journal !== undefined) continue;
      await takeBack(harness.family, file, path, home).catch(() => {});
    }
    throw error;
  }
}

/** The copy of the file goes too: each try would leave one. */
async function takeBack(
  family: string,
  { format }: FileChange["file"],
  path: string,
  home: string,
): Promise<void> {
  const written = await readSettings({ family, format }, path, home, "connect");
  await undo({ format }, written);
  const backup = written.journal?.backup;
  if (backup != null) await rm(resolve(written.folder, backup), { force: true });
}

async function sayWritten(
  { files }: ConnectionPlan,
  made: { name: string; prefix: string } | undefined,
  { out }: CommandContext,
): Promise<void> {
  if (made !== undefined) out.write(`Created the key ${printable(made.name)} (${made.prefix}).\n`);
  for (const { path, reading, edit } of files) {
    if (edit.edits.length === 0) continue;
    const backup = (await readJournal(reading.folder))?.backup ?? null;
    const copy = backup === null ? "" : ` The file from before is ${printable(backup)}.`;
    out.write(`Wrote ${printable(path)}.${copy}\n`);
  }
}

async function dropOldKey(
  { record }: ConnectionPlan,
  isReplaced: boolean,
  context: CommandContext,
): Promise<void> {
  if (!isReplaced || record?.key == null) return;
  if (await dropKey(await clientOf(record, context), record.key.id)) return;
  context.out.write(
    `The old key ${record.key.prefix} still works at ${printable(record.url)}. Revoke it there.\n`,
  );
}

async function requireSafe(folder: string): Promise<void> {
  try {
    await requireSafeFolder(folder);
  } catch (error) {
    throw explained(error);
  }
}

function requireWritable(file: SettingsText): void {
  try {
    assertWritable(file);
  } catch (error) {
    throw explained(error);
  }
}

async function withClaim(folder: string, run: () => Promise<void>): Promise<void> {
  let lock: Lock;
  await requireSafe(folder);
  try {
    lock = await lockFile(`${folder}/connect`);
  } catch (error) {
    if (!(error instanceof GuardError) || error.code !== "store_locked") throw error;
    throw new CliError("Another command is connecting this harness.", { hint: error.message, cause: error });
  }
  try {
    await run();
  } finally {
    await lock.release();
  }
}

/** A file that prevents a command, as an error for a person. */
export function explained(error: unknown): unknown {
  if (error instanceof SettingsFileError) return new CliError(error.message, { cause: error });
  if (error instanceof UnreadableSettings)
    return new CliError(`${error.message} Nothing was written.`, { cause: error });
  return error;
}

/** The settings to paste, with their key. */
export function printedSettings({ files }: ConnectionPlan): string {
  const parts = files.map(({ file, path }) => `# ${path}\n${printableLines(settingsText(file))}`);
  return `${parts.join("\n\n")}\n`;
}
