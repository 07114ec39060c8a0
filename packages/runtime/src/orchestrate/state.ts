import type { SubPhase } from "./split.ts";

/** Status of a phase. `needs_human` is final, like `completed`. */
export type PhaseStatus = "pending" | "running" | "completed" | "failed" | "needs_human";

/** The orchestrator's record of a phase. It holds no results or file contents. */
export interface PhaseRecord {
  id: string;
  name: string;
  status: PhaseStatus;
  score: number | null;
  summary: string;
  /** The runner's peak, in percent of its window; null if the window size is unknown. */
  contextPct: number | null;
  durationMs: number;
  /** Ids of its sub-phases; empty if it was not split. */
  split: string[];
  parent: string | null;
  scope: string;
  issues: string[];
}

/** The stored state of a run. */
export interface RunState {
  version: 1;
  run: string;
  status: "running" | "completed" | "failed" | "paused";
  /** The orchestrator's own level, in percent of its window. */
  orchestratorPct: number | null;
  /** Highest warning level given so far: 0, 70 or 90. */
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

/** One changed field: its path and new value. */
export interface Edit {
  path: readonly string[];
  value: unknown;
}

/** Stores a run's state. `apply` must apply all edits atomically. See `fileRunStore` of `@plimsoll/runtime/node`. */
export interface RunStore {
  /**
   * Locks the store until the returned function is called.
   * @throws {GuardError} `store_locked` if another process or call holds the lock.
   */
  claim?(): Promise<() => Promise<void>>;
  read(): Promise<RunState | undefined> | RunState | undefined;
  apply(edits: readonly Edit[]): Promise<void> | void;
}

/** Returns a copy of `document` with the edits applied. */
export function applyEdits<T>(document: T, edits: readonly Edit[]): T {
  let next: unknown = document;
  for (const { path, value } of edits) next = applyEditAt(next, path, value);
  return next as T;
}

function applyEditAt(node: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const object = typeof node === "object" && node !== null ? (node as Record<string, unknown>) : {};
  const next = {
    ...object,
    [key]: applyEditAt(Object.hasOwn(object, key) ? object[key] : undefined, rest, value),
  };
  return next;
}

/** Formats edits as one line each, so an agent sees them without the whole file. */
export function editLines(edits: readonly Edit[]): string[] {
  return edits.map(({ path, value }) => `${path.join(".")} = ${JSON.stringify(value)}`);
}

/** Stores the state in memory as JSON. */
export function memoryRunStore(): RunStore & { text: string | undefined } {
  return {
    text: undefined,
    read() {
      return this.text === undefined ? undefined : (JSON.parse(this.text) as RunState);
    },
    apply(edits) {
      this.text = JSON.stringify(applyEdits(this.text === undefined ? {} : JSON.parse(this.text), edits));
    },
  };
}
