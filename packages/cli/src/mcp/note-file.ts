import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { estimateTokens } from "@plimsoll/guard/measure";
import { replaceFile, rootPath } from "@plimsoll/guard/node";

/** What an agent wrote down for itself. The text stays on this machine. */
export interface Checkpoint {
  session: string;
  /** Epoch ms. */
  at: number;
  /** As the guard estimates them. */
  tokens: number;
  note: string;
}

/** Why a note is not kept. */
export const NOTE_REFUSALS = ["empty", "too_long", "sub_agent", "folder_not_safe"] as const;
export type NoteRefusal = (typeof NOTE_REFUSALS)[number];

/** Tokens of a note, and its characters: Claude Code takes 10,000 from a hook. */
export const LONGEST_NOTE = 2_000;
export const MOST_CHARACTERS = 9_500;
/** Notes of sessions that ended long ago are removed after this time, ms. */
const FORGET_MS = 30 * 86_400_000;

export const notesFolder = (home: string) => join(home, "checkpoints");
/** A returned note is kept under another name, so that it is returned once, whichever hook is first. */
const fileOf = (home: string, session: string, state: "kept" | "returned") =>
  join(notesFolder(home), `${createHash("sha256").update(session).digest("hex").slice(0, 32)}.${state}.json`);

/**
 * Keeps the note of a session, in place of the one before.
 * @param home data folder of Plimsoll
 */
export async function keepNote(
  home: string,
  { session, note, at }: Pick<Checkpoint, "session" | "note" | "at">,
): Promise<{ tokens: number } | { refused: NoteRefusal; tokens: number }> {
  const tokens = Math.ceil(estimateTokens(note));
  if (note.trim() === "") return { refused: "empty", tokens };
  if (tokens > LONGEST_NOTE || note.length > MOST_CHARACTERS) return { refused: "too_long", tokens };
  const folder = notesFolder(home);
  if ((await rootPath(folder)).is === "changeable") return { refused: "folder_not_safe", tokens };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const text = JSON.stringify({ session, at, tokens, note } satisfies Checkpoint);
  await replaceFile(fileOf(home, session, "kept"), (file) => file.writeFile(text), { mode: 0o600 });
  await forgetOld(folder, at);
  return { tokens };
}

/** The latest note of a session, returned or not. */
export async function readNote(home: string, session: string): Promise<Checkpoint | undefined> {
  return (
    (await noteIn(fileOf(home, session, "kept"), session)) ??
    (await noteIn(fileOf(home, session, "returned"), session))
  );
}

/** Takes the note of a session for the agent. Of several takers, one gets it. */
export async function takeNote(home: string, session: string): Promise<Checkpoint | undefined> {
  const taken = fileOf(home, session, "returned");
  try {
    await rename(fileOf(home, session, "kept"), taken);
  } catch {
    return undefined;
  }
  return noteIn(taken, session);
}

async function noteIn(path: string, session: string): Promise<Checkpoint | undefined> {
  try {
    const found = JSON.parse(await readFile(path, "utf8")) as Partial<Checkpoint>;
    if (found.session !== session || typeof found.note !== "string") return undefined;
    return { session, at: Number(found.at), tokens: Number(found.tokens), note: found.note };
  } catch {
    return undefined;
  }
}

/** Removes what is in the folder of notes for a month. */
export async function forgetOld(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const file = await stat(path).catch(() => undefined);
    if (file !== undefined && file.mtimeMs < now - FORGET_MS) await rm(path, { force: true });
  }
}
