import type { WindowLookup } from "@plimsoll/fold";
import type { ObserveFacts, OptionNames } from "@plimsoll/guard/conversation";
import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import type { Manager } from "./manager.ts";
import type { SplitRequest, TooLarge, WorkSize } from "./split.ts";
import type { RunState, RunStore } from "./state.ts";

/** The result of a phase-runner. The orchestrator only receives `summary`, not the work itself. */
export type PhaseOutcome =
  | { status: "completed" | "failed" | "needs_human"; score?: number; summary: string }
  | ({ status: "split_request" } & SplitRequest);

/** The result of a verification. `score` and `summary` replace the runner's own. */
export interface Verdict {
  passed: boolean;
  score?: number;
  summary?: string;
}

/** What a phase-runner receives. */
export interface PhaseContext {
  id: string;
  name: string;
  scope: string;
  issues: readonly string[];
  /** False if the work has been split as often as allowed and must be done as a whole. */
  maySplit: boolean;
  /** True if an earlier process started this phase and died. */
  resumed: boolean;
  /** In a remediation round: why the first attempt failed. The runner must do better in exactly this. */
  findings: string | undefined;
  /** Records the usage of each model call of this runner, which has its own window. */
  observe(usage: unknown, facts?: ObserveFacts): void;
  /** Returns why the work should be split, or `undefined` if it fits or may not be split. */
  tooLarge(size: WorkSize): TooLarge;
  /** Aborts when the run is paused. */
  signal: AbortSignal;
}

/** Options of {@link orchestrate}. */
export interface OrchestrateOptions {
  /** Id of the run; also its session in the events. */
  run: string;
  /** Title on the dashboard. Default: the run's id. */
  title?: string;
  /** The harness instance, such as `autopilot@host-1`. */
  harness: string;
  phases: readonly { id: string; name: string; scope?: string }[];
  /** Runs one phase or sub-phase. */
  runPhase: (phase: PhaseContext) => Promise<PhaseOutcome>;
  /** Verifies each completed phase and sub-phase. Without it, the runner's own result counts. */
  verify?: (phase: PhaseContext, outcome: { score: number | null; summary: string }) => Promise<Verdict>;
  /** Stores the run's state, such as `fileRunStore(path)`. */
  store: RunStore;
  /** Writes a handoff, called when the run is paused and when the orchestrator's context passes 90 %. */
  writeHandoff?: (text: string) => Promise<void> | void;
  /** Counts what the orchestrator takes in, including the runners' summaries. Give the same manager to its tools. */
  manager?: Manager;
  /** The orchestrator's window. `manager` counts the tokens in it. */
  window?: { tokens: number };
  /** The runners' window size in tokens, or a lookup by model name. */
  runnerWindow?: number | WindowLookup;
  /** Maximum number of sub-phases at once. Default: all of them. */
  concurrency?: number;
  /** Maximum depth of nested splits. Default: 2. */
  maxDepth?: number;
  /** Receives progress tables and notices for the user. */
  say?: (text: string) => void;
  /** Receives each event as it happens, such as `reporter.record`. */
  onEvent?: (event: PlimsollEventInput) => void;
  /** Pauses the run. */
  signal?: AbortSignal;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
}

export const ORCHESTRATE_OPTIONS: OptionNames<OrchestrateOptions> = {
  run: "required",
  title: "optional",
  harness: "required",
  phases: "required",
  runPhase: "required",
  verify: "optional",
  store: "required",
  writeHandoff: "optional",
  manager: "optional",
  window: "optional",
  runnerWindow: "optional",
  concurrency: "optional",
  maxDepth: "optional",
  say: "optional",
  onEvent: "optional",
  signal: "optional",
  clock: "optional",
};

/** The result of {@link orchestrate}. */
export interface OrchestrateResult {
  status: RunState["status"];
  state: RunState;
  /** Markdown table of all phases, with sub-phases inline. */
  report: string;
}
