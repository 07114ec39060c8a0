import type { SubPhase } from "./split.ts";

export type PhaseStatus = "pending" | "running" | "completed" | "failed" | "needs_human";

/** What the orchestrator knows of a phase: name, score, status, routing. No results, no contents. */
export interface PhaseRecord {
  id: string;
  name: string;
  status: PhaseStatus;
  score: number | null;
  summary: string;
  /** Highest context of its runner, percent of the window; null when its window size is unknown. */
  contextPct: number | null;
  durationMs: number;
  /** Ids of the sub-phases it was split into. */
  split: string[];
  parent: string | null;
  scope: string;
  issues: string[];
}

export interface RunState {
  version: 1;
  run: string;
  status: "running" | "completed" | "failed" | "paused";
  orchestratorPct: number | null;
  warned: number;
  phases: Record<string, PhaseRecord>;
}

export function newPhase(id: string, name: string, sub?: SubPhase, parent?: string): PhaseRecord {
  return {
    id,
    name,
    status: "pending",
    score: null,
    summary: "",
    contextPct: null,
    durationMs: 0,
    split: [],
    parent: parent ?? null,
    scope: sub?.scope ?? "",
    issues: [...(sub?.issues ?? [])],
  };
}

/** One field to change: where, and to what. */
export interface Edit {
  path: readonly string[];
  value: unknown;
}

/**
 * Keeps a run's state. `apply` must be all or nothing over all its edits: see `fileRunStore` of `@plimsoll/guard/node`.
 */
export interface RunStore {
  /**
   * Keeps others off from reading to the last edit, and gives what lets them in again.
   * @throws {GuardError} `store_locked` when another has it.
   */
  claim?(): Promise<() => Promise<void>>;
  read(): Promise<RunState | undefined> | RunState | undefined;
  apply(edits: readonly Edit[]): Promise<void> | void;
}

/** The document after some edits; the one given is not changed. */
export function edited<T>(document: T, edits: readonly Edit[]): T {
  let next: unknown = document;
  for (const { path, value } of edits) next = editedAt(next, path, value);
  return next as T;
}

function editedAt(node: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const object = typeof node === "object" && node !== null ? (node as Record<string, unknown>) : {};
  const next = {
    ...object,
    [key]: editedAt(Object.hasOwn(object, key) ? object[key] : undefined, rest, value),
  };
  return next;
}

/** An edit as an agent would see it: a few lines, never the file. */
export function editLines(edits: readonly Edit[]): string[] {
  return edits.map(({ path, value }) => `${path.join(".")} = ${JSON.stringify(value)}`);
}

/** Keeps the state in memory, as JSON. */
export function memoryRunStore(): RunStore & { text: string | undefined } {
  return {
    text: undefined,
    read() {
      return this.text === undefined ? undefined : (JSON.parse(this.text) as RunState);
    },
    apply(edits) {
      this.text = JSON.stringify(edited(this.text === undefined ? {} : JSON.parse(this.text), edits));
    },
  };
}
