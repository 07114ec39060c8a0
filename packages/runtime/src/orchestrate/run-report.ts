import type { PhaseRecord, PhaseStatus, RunState } from "./state.ts";

/** Returns a Markdown table of the run's progress. Sub-phases follow their phase. */
export function progressTable(state: RunState): string {
  const rows = ordered(state).map((phase, index) => [
    String(index + 1),
    title(phase),
    phase.status,
    score(phase),
    context(phase),
    phase.split.length === 0 ? "-" : phase.split.join(", "),
  ]);
  const foot = `Orchestrator context: ${state.orchestratorPct === null ? "unknown" : `${state.orchestratorPct}%`}`;
  return `${table(["#", "Phase", "Status", "Score", "Context", "Split"], rows)}\n${foot}`;
}

/** Returns a Markdown table of the finished run. */
export function completionReport(state: RunState): string {
  const rows = ordered(state).map((phase) => [
    phase.split.length === 0 ? title(phase) : `Phase ${phase.id} (split: ${phase.split.join(", ")})`,
    phase.status,
    score(phase),
    duration(phase.durationMs),
    context(phase),
    phase.split.length === 0 ? "-" : String(phase.split.length),
    phase.summary.replaceAll("|", "/") || "-",
  ]);
  return table(["Phase", "Status", "Alignment", "Duration", "Context", "Split", "Notes"], rows);
}

/** Returns the handoff of a paused run. The next run continues from the stored state, not from this text. */
export function handoffText(state: RunState): string {
  const leaves = ordered(state).filter((phase) => phase.split.length === 0);
  const idsOf = (...statuses: PhaseStatus[]) => {
    const found = leaves.filter(({ status }) => statuses.includes(status));
    return found.map(({ id, status }) => (status === "completed" ? id : `${id} (${status})`)).join(", ");
  };
  return [
    `# Handoff of ${state.run}`,
    "",
    `Completed: ${idsOf("completed") || "none"}`,
    `Remaining: ${idsOf("pending", "running") || "none"}`,
    `Not completed: ${idsOf("failed", "blocked", "needs_human") || "none"}`,
    "",
    "Run the same command again to continue: what is over is not repeated.",
    "",
  ].join("\n");
}

/**
 * Returns a warning from 70 % on, or `undefined`. A high level means that the orchestrator does a runner's work; it
 * never stops the run.
 */
export function contextWarning(pct: number): string | undefined {
  if (pct >= 90) {
    return "Context at ~90%. Consider writing handoff file for safety. Verify manager-not-worker principle.";
  }
  if (pct >= 70) {
    return "Context at ~70%. If approaching limits, verify orchestrator is not reading detailed files directly.";
  }
  return undefined;
}

function ordered(state: RunState): PhaseRecord[] {
  const all = Object.values(state.phases);
  const place = (phase: PhaseRecord): PhaseRecord[] => [
    phase,
    ...phase.split.flatMap((id) => (state.phases[id] === undefined ? [] : place(state.phases[id]))),
  ];
  return all.filter((phase) => phase.parent === null).flatMap(place);
}

function title(phase: PhaseRecord): string {
  return `${phase.id} ${phase.name}`.trim();
}

function score(phase: PhaseRecord): string {
  return phase.score === null ? "-" : String(Math.round(phase.score * 10) / 10);
}

function context(phase: PhaseRecord): string {
  return phase.contextPct === null ? "-" : `${phase.contextPct}%`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
