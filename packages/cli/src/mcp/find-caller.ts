import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ADAPTERS, type Places } from "@plimsoll/harnesses/bridge";
import { CALLERS, type CallerFamily, type CallingFamily, callProof } from "@plimsoll/harnesses/callers";
import { fileThread } from "@plimsoll/harnesses/recordings";
import { sessionFiles, writtenSince } from "../bridge/newest-session.ts";
import { sleep } from "../sleep.ts";
import { tailOf } from "../statusline/recording-tail.ts";
import { type Binding, bindCaller, type CallRefusal } from "./bind-caller.ts";

/** The recording of the agent that makes a call. */
export interface Caller {
  family: CallingFamily;
  /** Path of the recording of the session's main agent. */
  recording: string;
  /** Name of the agent in the recordings of its session. */
  agent: string;
  by: Binding;
}

/** A mark that an answer had. */
export interface GivenMark {
  text: string;
  /** Epoch ms. */
  at: number;
}

export interface CallerQuestion {
  /** `_meta` of the call. */
  meta: unknown;
  /** The session that a person named. */
  argument: string | undefined;
  mark: GivenMark | undefined;
  /** Recordings of earlier callers, where the next call most likely is. */
  known: readonly string[];
  places: Places;
  now: () => number;
  /** Longest time to wait until the harness has written the call, ms. */
  patienceMs?: number;
}

/** Claude Code 2.1.329 writes lines in batches of 100 ms. */
const PATIENCE_MS = 2_000;
const POLL_MS = 5;
/** A recording with the call was written this shortly before, ms. Clocks of file systems may be coarse. */
const RECENT_MS = 60_000;
/** Those that keep a session in a file of its own. */
const FAMILIES = (Object.entries(CALLERS) as [CallingFamily, CallerFamily][]).flatMap(([family, caller]) =>
  caller.result === undefined ? [] : [[family, { ...caller, result: caller.result }] as const],
);

/** Finds the recording of the agent that makes a call; see `bindCaller`. */
export async function findCaller(question: CallerQuestion): Promise<Caller | { refused: CallRefusal }> {
  const { meta, argument } = question;
  const { family, proof } = callProof(meta) ?? {};
  const evidence = { argument, proof, writtenLast: undefined };
  if (argument !== undefined || (proof?.kind === "session" && family !== undefined)) {
    const families = argument === undefined ? [family!] : FAMILIES.map(([name]) => name);
    const found = await ofSession(argument ?? proof!.id, families, question.places);
    return named(bindCaller({ ...evidence, found: found.map(({ path }) => path) }), found[0]?.family);
  }
  if (proof !== undefined && family !== undefined) {
    const found = await ofCall(proof.id, family, question);
    return named(bindCaller({ ...evidence, found }), family);
  }
  const { found, writtenLast } = await ofMark(question);
  return named(
    bindCaller({ ...evidence, found: found.map(({ path }) => path), writtenLast }),
    found[0]?.family,
  );
}

function named(
  bound: ReturnType<typeof bindCaller>,
  family: CallingFamily | undefined,
): Caller | { refused: CallRefusal } {
  if ("refused" in bound) return bound;
  const { recording, by } = bound;
  const { subagents } = CALLERS[family!] as CallerFamily;
  const isSubagent = subagents !== undefined && basename(dirname(recording)) === subagents;
  return {
    family: family!,
    recording: isSubagent ? `${dirname(dirname(recording))}.jsonl` : recording,
    agent: isSubagent ? basename(recording, ".jsonl") : "main",
    by,
  };
}

export function sessionsFolder(family: CallingFamily, places: Places): string {
  return ADAPTERS.find((adapter) => adapter.family === family)!.sessions!(places);
}

interface Found {
  family: CallingFamily;
  path: string;
}

/** The recordings with the name of a session. */
async function ofSession(
  session: string,
  families: readonly CallingFamily[],
  places: Places,
): Promise<Found[]> {
  const found = await Promise.all(
    families.map(async (family) => {
      const { latest } = await sessionFiles(sessionsFolder(family, places), session);
      return latest
        .filter((path) => fileThread(basename(path)) === session)
        .map((path) => ({ family, path }));
    }),
  );
  return found.flat();
}

/** The recording with the id of a call, once the harness has written it. */
async function ofCall(call: string, family: CallingFamily, question: CallerQuestion): Promise<string[]> {
  const { known, places, now, patienceMs = PATIENCE_MS } = question;
  const caller: CallerFamily = CALLERS[family];
  const folder = sessionsFolder(family, places);
  const started = places.env[caller.startedBy ?? ""];
  const looked = new Map<string, number>();
  const hasCall = (path: string, since = now() - RECENT_MS) => {
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined || file.mtimeMs < since || looked.get(path) === file.size) return false;
    looked.set(path, file.size);
    const tail = tailOf(path);
    return tail.includes(call) && linesWith(tail, call).some((line) => caller.makesCall!(line, call));
  };
  // A clock that is set back meanwhile must not make the call wait for it.
  const until = performance.now() + patienceMs;
  for (let attempt = 0; ; attempt += 1) {
    const isLast = performance.now() >= until;
    const likely = await withSubagents([...known, ...(await startedRecordings(folder, started))], caller);
    // After a pause of this machine, the recording was written long ago.
    const found = likely.find((path) => hasCall(path, isLast ? 0 : undefined));
    if (found !== undefined) return [found];
    // All recordings of a person are many. They are looked through at first, now and then, and at last.
    if (attempt % 20 === 0 || isLast) {
      const others = await writtenSince(folder, now() - RECENT_MS);
      const having = others.filter((path) => hasCall(path));
      if (having.length > 0 || isLast) return having;
    }
    await sleep(POLL_MS);
  }
}

const linesWith = (text: string, part: string) => text.split("\n").filter((line) => line.includes(part));

/** The recording of the session that the server was started for. */
async function startedRecordings(folder: string, session: string | undefined): Promise<string[]> {
  if (session === undefined || !/^[\w-]+$/.test(session)) return [];
  const projects = await readdir(folder).catch(() => []);
  return projects
    .map((project) => join(folder, project, `${session}.jsonl`))
    .filter((path) => existsSync(path));
}

/** The recordings with those of their sub-agents. */
export async function withSubagents(paths: readonly string[], caller: CallerFamily): Promise<string[]> {
  const { subagents } = caller;
  if (subagents === undefined) return [...paths];
  const own = await Promise.all(
    paths.map(async (path) => {
      const folder = join(path.replace(/\.jsonl$/, ""), subagents);
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
    }),
  );
  return [...new Set([...paths, ...own.flat()])];
}

/** The recordings that have the mark as the result of a tool, and the one of their family that was written last. */
async function ofMark({
  mark,
  places,
}: CallerQuestion): Promise<{ found: Found[]; writtenLast: string | undefined }> {
  if (mark === undefined) return { found: [], writtenLast: undefined };
  const all: Found[] = [];
  let writtenLast: string | undefined;
  for (const [family, { result }] of FAMILIES) {
    const written = await writtenSince(sessionsFolder(family, places), mark.at - RECENT_MS);
    const found = written.filter((path) =>
      linesWith(tailOf(path), mark.text).some((line) => line.includes(result)),
    );
    if (found.length > 0) writtenLast = written[0];
    for (const path of found) all.push({ family, path });
  }
  return { found: all, writtenLast };
}
