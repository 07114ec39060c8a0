import {
  cacheLife,
  EMPTY_STATE,
  forecast,
  type InForce,
  judgedBy,
  minutesFor,
  type ReportedLine,
  type ThresholdTimeline,
  thresholdSource,
  utilizationOf,
} from "@plimsoll/fold";
import { harnessLine, hasOwnLine, lineKind } from "@plimsoll/harnesses/lines";
import type { AgentView, AppliedThreshold, SessionStatus, SessionSummary } from "@plimsoll/protocol/api";
import { lineOf, loadOf, THRESHOLD_NAMES, thresholdText, thresholdTokens } from "@plimsoll/protocol/policy";
import type { Agent, Session } from "../db/generated/client.ts";
import { sourceOf } from "../db/tables/codes.ts";
import { unpackStored } from "../db/tables/packed-state.ts";
import { iso } from "../times.ts";
import { lineView } from "./harness-lines.ts";
import { activeAt, type HeardDates, heardTimes, LIVE_FOR } from "./liveness.ts";
import type { SessionAdditions } from "./session-additions.ts";

type SessionKind = SessionSummary["kind"];

/** How an agent is judged. */
interface Judgement {
  inForce: InForce;
  /** What its harness reported of its lines. */
  reportedLines: readonly ReportedLine[];
}

/**
 * The time at which an agent's lines are shown, epoch ms: now, or that of its last event if no more are expected. A policy of later
 * does not move the lines of what is over.
 */
export function judgedAt(agent: Pick<AgentFacts, "lastAt">, isOver: boolean, now: number): number {
  const last = agent.lastAt.getTime();
  return isOver ? last : Math.max(now, last);
}

/** The thresholds of a window in tokens; those that are off, or need a size nobody knows, are left out. */
export function appliedThresholds(
  { inForce, reportedLines }: Judgement,
  model: string | undefined,
  windowTokens: number | undefined,
): AppliedThreshold[] {
  const thresholds = judgedBy(inForce, reportedLines, model);
  return THRESHOLD_NAMES.flatMap((name) => {
    const value = thresholds[name];
    const tokens = thresholdTokens(name, value, windowTokens);
    if (tokens === undefined) return [];
    const source = thresholdSource(inForce, reportedLines, model, name);
    return [{ name, label: thresholdText(value), tokens, source }];
  });
}

/** What is known of an agent; the rest of its row is of no concern to those who look. */
export type AgentFacts = Omit<
  Agent,
  | "projectId"
  | "lastReceivedAt"
  | "firstReceivedAt"
  | "load"
  | "number"
  | "hasState"
  | "uncounted"
  | "version"
  | "peakUtilization"
  | "masked"
  | "compacted"
  | "subticks"
  | "restarts"
  | "cleared"
  | "unexplained"
  | "reclaimed"
  | "warnings"
  | "promptTokens"
  | "cachedTokens"
  | "estimatedTokens"
  | "costMicros"
  | "costTurns"
  | "estimatedCostMicros"
  | "estimatedCostTurns"
>;

/** What a view needs beside the agent's row. */
interface ViewContext {
  /** Of its session. */
  harness: string;
  /** What its harness reported of its lines, for an agent whose state is gone. */
  linesBefore?: readonly ReportedLine[];
  /** Of its latest turns, in order, epoch ms. */
  turnTimes?: readonly number[];
}

/**
 * @param at see `judgedAt`
 */
export function agentView(
  agent: AgentFacts,
  timeline: ThresholdTimeline,
  at: number,
  { harness, linesBefore = [], turnTimes = [] }: ViewContext,
): AgentView {
  const state =
    agent.state === null ? { ...EMPTY_STATE, reportedLines: linesBefore } : unpackStored(agent.state).state;
  const { recent, uncounted, reportedLines } = state;
  const model = agent.model ?? undefined;
  const judgement = { inForce: timeline.at(at, model), reportedLines };
  const windowTokens = agent.currentWindow ?? undefined;
  const contextTokens = agent.currentTokens ?? undefined;
  const line = lineOf(judgedBy(judgement.inForce, reportedLines, model), windowTokens);
  const thresholds = appliedThresholds(judgement, model, windowTokens);
  const source = thresholds.find(({ name }) => name === line?.threshold)?.source ?? "default";
  const utilization = utilizationOf(contextTokens, windowTokens);
  const ahead = forecast(recent, line?.tokens);
  const end = ahead.reason === "over" ? forecast(recent, windowTokens) : undefined;
  const pending = state.pending.at(-1);
  const cache = cacheLife(state);
  return {
    id: agent.id,
    session_id: agent.sessionId,
    name: agent.name,
    parent: agent.parent,
    model: agent.model,
    context_tokens: agent.currentTokens,
    window_tokens: agent.currentWindow,
    window_source: sourceOf(agent.windowSource),
    utilization: utilization ?? null,
    window_suspect: utilization !== undefined && utilization > 1,
    uncounted_turns: uncounted,
    cache: cache === undefined ? null : { tokens: cache.tokens, cold_at: iso(cache.coldAt) },
    after_boundary: pending === undefined ? null : { tokens: pending.tokensAfter ?? null },
    peak:
      agent.peakTokens === null || agent.peakAt === null
        ? null
        : {
            tokens: agent.peakTokens,
            window_tokens: agent.peakWindow,
            utilization: utilizationOf(agent.peakTokens, agent.peakWindow ?? undefined) ?? null,
            at: iso(agent.peakAt),
          },
    thresholds,
    policy_generation: judgement.inForce.generation,
    line:
      line === undefined ? null : { ...line, kind: lineKind(harness, line, source, windowTokens), source },
    harness_line: hasOwnLine(harness)
      ? lineView(harnessLine(harness, judgement.inForce, windowTokens))
      : null,
    load: loadOf(contextTokens, line) ?? null,
    forecast: {
      reason: ahead.reason,
      turns: ahead.turns ?? null,
      growth: ahead.growth ?? null,
      minutes: minutesFor(ahead.turns, turnTimes) ?? null,
      end_turns: end?.turns ?? null,
      end_minutes: minutesFor(end?.turns, turnTimes) ?? null,
    },
    turns: agent.turns,
    windows: agent.windows,
    first_at: iso(agent.firstAt),
    last_at: iso(agent.lastAt),
  };
}

/** Ended when its harness said so and nothing came after; live when active lately; idle otherwise. */
export function sessionStatus(session: Pick<Session, "endedAt"> & HeardDates, now: number): SessionStatus {
  if (session.endedAt !== null && session.lastAt <= session.endedAt) return "ended";
  return activeAt(heardTimes(session)) > now - LIVE_FOR ? "live" : "idle";
}

export function sessionRow(session: Session, additions: SessionAdditions, now: number): SessionSummary {
  return {
    id: session.id,
    session: session.name,
    title: session.title,
    kind: session.kind as SessionKind,
    harness: session.harness,
    machine: session.machine,
    repository: session.repository,
    branch: session.branch,
    person: session.personId,
    status: sessionStatus(session, now),
    end_reason: session.endReason,
    model: session.model,
    context_tokens: session.currentTokens,
    window_tokens: session.currentWindow,
    utilization:
      utilizationOf(session.currentTokens ?? undefined, session.currentWindow ?? undefined) ?? null,
    load: session.load,
    peak_tokens: session.peakTokens,
    peak_utilization: session.peakUtilization,
    turns: session.turns,
    agents: session.agents,
    windows: session.windows,
    masked: session.masked,
    compacted: session.compacted,
    subticks: session.subticks,
    restarts: session.restarts,
    cleared: session.cleared,
    unexplained: session.unexplained,
    reclaimed_tokens: Number(session.reclaimed),
    warnings: session.warnings,
    prompt_tokens: Number(session.promptTokens),
    cached_tokens: Number(session.cachedTokens),
    estimated_tokens: Number(session.estimatedTokens),
    cost_usd: session.costTurns === 0 ? null : Number(session.costMicros) / 1e6,
    cost_turns: session.costTurns,
    estimated_cost_usd: session.estimatedCostTurns === 0 ? null : Number(session.estimatedCostMicros) / 1e6,
    estimated_cost_turns: session.estimatedCostTurns,
    first_at: iso(session.firstAt),
    last_at: iso(session.lastAt),
    ...additions,
  };
}
