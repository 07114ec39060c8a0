import type { SubPhase } from "./split.ts";

/** Status of a phase. `needs_human` is final, like `completed`. `blocked`: a sub-phase that it needs is not completed. */
export type PhaseStatus = "pending" | "running" | "completed" | "failed" | "blocked" | "needs_human";

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
  /** Ids of the sub-phases that must be completed before it. */
  needs: string[];
  /** Ids of the sub-phases that must have ended before it. */
  waitsFor: string[];
  /** Why its first attempt failed, while its second one is under way. */
  remediation?: string | undefined;
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
    needs: [...(sub?.needs ?? [])],
    waitsFor: [...(sub?.waitsFor ?? [])],
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

/** True if a run does nothing more for this phase. */
export function isOver({ status }: PhaseRecord): boolean {
  return status !== "pending" && status !== "running";
}

/**
 * Makes what failed in a run that has ended ready for another try. An interrupted run continues instead,
 * so that nothing gets a second remediation round.
 */
export function retriesOf({ status, phases }: RunState): Edit[] {
  const failed = status !== "failed" ? [] : Object.values(phases).filter(({ status }) => isRetried(status));
  return failed.map(({ id }) => ({ path: ["phases", id, "status"], value: "pending" }));
}

const isRetried = (status: PhaseStatus) => status === "failed" || status === "blocked";

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

/**
 * A document as the text of a file: one line a field, whatever it holds, so that an edit changes few lines of a file of any
 * size.
 */
export function stateText(value: unknown, indent = ""): string {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const fields = isObject ? Object.entries(value).filter(([, field]) => field !== undefined) : [];
  if (fields.length === 0) return JSON.stringify(value) ?? "null";
  const inner = `${indent}  `;
  const lines = fields.map(([key, field]) => `${inner}${JSON.stringify(key)}: ${stateText(field, inner)}`);
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

/** Returns how many lines an edit writes or removes, whichever is more, given the text before and after it. */
export function editLines(before: string, after: string): number {
  const [old, next] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, next.length);
  let start = 0;
  while (start < shorter && old[start] === next[start]) start++;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  return Math.max(old.length, next.length) - start - end;
}

/**
 * Stores the state in memory as JSON.
 * @example
 * const store = memoryRunStore();
 */
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
