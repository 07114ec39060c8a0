import { routesOf } from "./route.ts";

/** One part of a split phase. */
export interface SubPhase {
  /** Such as `20a`, or the next letter if another phase has this id. */
  id: string;
  name: string;
  scope: string;
  issues: readonly string[];
  /** Names of the sub-phases of the same request that must be completed first. */
  after?: readonly string[];
  /** Ids of the sub-phases that must be completed first. */
  needs: readonly string[];
  /** Ids of the sub-phases that must have ended first: those it needs, and earlier ones of its groups. */
  waitsFor: readonly string[];
}

/** What a phase-runner returns when its work does not fit in one context. It is not a failure. */
export interface SplitRequest {
  subPhases: readonly Omit<SubPhase, "id" | "needs" | "waitsFor">[];
  /**
   * Issues or sub-phases that touch the same files, by group name. Sub-phases of one group run one after the other, in the
   * order of the request; all others run in parallel.
   */
  groupings: Readonly<Record<string, readonly string[]>>;
  /** Why the work must be split. */
  rationale: string;
}

/** The size of a piece of work, as far as its runner knows it. */
export interface WorkSize {
  issues?: number;
  files?: number;
  complexTasks?: number;
  /** Number of distinct files that it expects to read. */
  reads?: number;
}

/** Why work is too large for one context; `undefined` if it fits. */
export type TooLarge = "issues_and_files" | "complex_tasks" | "reads" | undefined;

/** Limits above which work is split. */
export interface SplitLimits {
  /** Work is too large with more than `issues` issues in at least `files` files. */
  issues: number;
  files: number;
  complexTasks: number;
  reads: number;
}

/** Default limits. */
export const SPLIT_LIMITS: SplitLimits = { issues: 3, files: 4, complexTasks: 5, reads: 10 };

/** Returns why work is too large, or `undefined`. A phase-runner calls it during its work. */
export function tooLarge(size: WorkSize, limits: SplitLimits = SPLIT_LIMITS): TooLarge {
  if ((size.issues ?? 0) > limits.issues && (size.files ?? 0) >= limits.files) return "issues_and_files";
  if ((size.complexTasks ?? 0) > limits.complexTasks) return "complex_tasks";
  if ((size.reads ?? 0) > limits.reads) return "reads";
  return undefined;
}

/**
 * Returns the id of a sub-phase: `20a` for the first part of `20`, `20a.1` for the first part of `20a`. Ids are
 * unique.
 */
export function subPhaseId(phase: string, index: number): string {
  if (/[a-z]$/.test(phase) || phase.includes(".")) return `${phase}.${index + 1}`;
  let letters = "";
  for (let left = index; left >= 0; left = Math.floor(left / 26) - 1) {
    letters = String.fromCharCode(97 + (left % 26)) + letters;
  }
  return phase + letters;
}

/**
 * Assigns an id to each sub-phase of a request.
 * @param taken whether another phase has an id
 */
export function subPhasesOf(
  phase: string,
  request: SplitRequest,
  taken: (id: string) => boolean = () => false,
): SubPhase[] {
  let index = 0;
  const next = () => {
    let id: string;
    do id = subPhaseId(phase, index++);
    while (taken(id));
    return id;
  };
  const ids = request.subPhases.map(next);
  const toIds = (places: readonly number[]) => places.map((place) => ids[place]!);
  return routesOf(request).map(({ needs, waitsFor }, place) => ({
    ...request.subPhases[place]!,
    id: ids[place]!,
    needs: toIds(needs),
    waitsFor: toIds(waitsFor),
  }));
}

/**
 * The text that announces a split to the user.
 * @param concurrency most sub-phases that run at once
 */
export function splitNotice(
  phase: string,
  request: SplitRequest,
  concurrency = Number.POSITIVE_INFINITY,
): string {
  const count = request.subPhases.length;
  const free = routesOf(request).filter(({ waitsFor }) => waitsFor.length === 0).length;
  const first = Math.min(free, concurrency);
  const how =
    first === count
      ? count === 1
        ? "launching it"
        : "launching in parallel"
      : first === 1
        ? "launching the first, the others follow"
        : `launching ${first} in parallel, the others follow`;
  const issues = new Set(request.subPhases.flatMap((sub) => sub.issues)).size;
  const what = issues > 0 ? `${issues} issue${issues === 1 ? "" : "s"}` : request.rationale.slice(0, 80);
  return `Phase ${phase} too large (${what}). Splitting into ${count} sub-phase${count === 1 ? "" : "s"}, ${how}...`;
}
