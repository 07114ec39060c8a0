export interface SubPhase {
  /** Such as `20a`. */
  id: string;
  name: string;
  scope: string;
  issues: readonly string[];
}

/** What a phase-runner returns when its work does not fit: not a failure, the right answer. */
export interface SplitRequest {
  subPhases: readonly Omit<SubPhase, "id">[];
  /** Which issues belong together, by name of the group. */
  groupings: Readonly<Record<string, readonly string[]>>;
  rationale: string;
}

/** Size of some work, as far as its runner knows it. */
export interface Scope {
  issues?: number;
  files?: number;
  complexTasks?: number;
  /** Distinct files it expects to read. */
  reads?: number;
}

/** Why work is too large for one context; undefined when it is not. */
export type TooLarge = "issues_and_files" | "complex_tasks" | "reads" | undefined;

export interface SplitLimits {
  /** Too large with more issues than this that also span `files` or more files. */
  issues: number;
  files: number;
  complexTasks: number;
  reads: number;
}

export const SPLIT_LIMITS: SplitLimits = { issues: 3, files: 4, complexTasks: 5, reads: 10 };

/** Asked by a phase-runner while it works, never by the orchestrator beforehand. */
export function tooLarge(scope: Scope, limits: SplitLimits = SPLIT_LIMITS): TooLarge {
  if ((scope.issues ?? 0) > limits.issues && (scope.files ?? 0) >= limits.files) return "issues_and_files";
  if ((scope.complexTasks ?? 0) > limits.complexTasks) return "complex_tasks";
  if ((scope.reads ?? 0) > limits.reads) return "reads";
  return undefined;
}

/** `20` and 0 give `20a`; a split of `20a` gives `20a.1`, so that no id is read as another. */
export function subPhaseId(phase: string, index: number): string {
  if (/[a-z]$/.test(phase) || phase.includes(".")) return `${phase}.${index + 1}`;
  let letters = "";
  for (let left = index; left >= 0; left = Math.floor(left / 26) - 1) {
    letters = String.fromCharCode(97 + (left % 26)) + letters;
  }
  return phase + letters;
}

/** Names each sub-phase. An empty request is the runner's mistake and is refused by name. */
export function subPhasesOf(phase: string, request: SplitRequest): SubPhase[] {
  return request.subPhases.map((sub, index) => ({ ...sub, id: subPhaseId(phase, index) }));
}

export function splitNotice(phase: string, request: SplitRequest): string {
  const issues = new Set(request.subPhases.flatMap((sub) => sub.issues)).size;
  const what = issues > 0 ? `${issues} issue${issues === 1 ? "" : "s"}` : request.rationale.slice(0, 80);
  return `Phase ${phase} too large (${what}). Splitting into ${request.subPhases.length} sub-phases, launching in parallel...`;
}
