import type { Composition, ToolResultEvent, TurnEvent } from "@plimsoll/protocol/events";
import { COMPOSITION_PARTS, OUTCOME_COUNTS, type ToolOutcome, type Usage } from "@plimsoll/protocol/pure";
import {
  type Choice,
  type Choices,
  choose,
  mergeLimits,
  mergeProvenance,
} from "../witnesses/merge-witnesses.ts";
import {
  type Provenance,
  provenanceOf,
  type WindowClaims,
  type WitnessedField,
  witnessCode,
} from "../witnesses/witness.ts";
import { compareText } from "./timeline.ts";
import { larger, largerPrompt, mergeBasis, NO_USAGE } from "./usage.ts";

/** What a sender said of one inference call, merged over every time it was sent. Times in epoch ms. */
export interface TurnFacts {
  /** Identity within the agent; also breaks ties in order. */
  key: string;
  at: number;
  model: string;
  usage: Usage;
  seq: number | undefined;
  /** Window index the sender gave; when absent it is counted from the boundaries. */
  sentWindow: number | undefined;
  /** Size of the window the harness reported with this turn, tokens. */
  sentLimit: number | undefined;
  estimated: boolean;
  /** The call was made to compact the context: its prompt is not a level. */
  compaction: boolean;
  composition: Composition | undefined;
  /** The parts were estimated from what was sent, not counted. False without parts. */
  compositionEstimated: boolean;
  durationMs: number | undefined;
  costUsd: number | undefined;
  /** What came of its tool calls. */
  outcome: ToolOutcome | undefined;
  /** Reports the end of one tool call, and is no turn: it changes nothing but what came of the calls of a turn. */
  isToolResult: boolean;
  /** Of the end of a tool call: what identifies the turn that asked for it, if that was told. */
  resultOf: number | undefined;
  /** Of the end of a tool call: what identifies the tool, if that was told. */
  tool: number | undefined;
  /** Who reported the call, and whose value each field has. */
  provenance: Provenance;
  /** What each witness said of the window. Undefined unless there are several witnesses. */
  limitClaims: WindowClaims | undefined;
}

export function turnFacts(event: TurnEvent, key: string): TurnFacts {
  return {
    key,
    at: event.at,
    model: event.model,
    usage: event.usage,
    seq: event.seq,
    sentWindow: event.window,
    sentLimit: event.context_window,
    estimated: event.estimated ?? false,
    compaction: event.purpose === "compaction",
    composition: event.composition,
    compositionEstimated: event.composition !== undefined && event.composition_estimated === true,
    durationMs: event.duration_ms,
    costUsd: event.cost_usd,
    outcome: outcomeOf(event),
    isToolResult: false,
    resultOf: undefined,
    tool: undefined,
    provenance: provenanceOf(event.witness),
    limitClaims: undefined,
  };
}

/**
 * The end of a tool call, in the shape of a turn: so it is stored, merged and found again like one.
 * @param marks what identifies `event.turn` and `event.tool`
 */
export function toolResultFacts(
  event: ToolResultEvent,
  key: string,
  { resultOf, tool }: Pick<TurnFacts, "resultOf" | "tool">,
): TurnFacts {
  const { result } = event;
  return {
    key,
    at: event.at,
    model: "",
    usage: NO_USAGE,
    seq: undefined,
    sentWindow: event.window,
    sentLimit: undefined,
    estimated: false,
    compaction: false,
    composition: undefined,
    compositionEstimated: false,
    durationMs: undefined,
    costUsd: undefined,
    outcome: { calls: 1, failed: Number(result === "failed"), rejected: Number(result === "rejected") },
    isToolResult: true,
    resultOf,
    tool,
    provenance: provenanceOf(event.witness),
    limitClaims: undefined,
  };
}

/**
 * Merges two reports of one turn. Each field has the value of the most trusted witness that gave one; of reports by the same
 * witness, counts take the maximum. The first time is kept, and a measured prompt replaces an estimated one. The result does
 * not depend on the order or the number of reports.
 */
export function mergeTurns(a: TurnFacts, b: TurnFacts): TurnFacts {
  const choices = choicesOf(a, b);
  const { prompt, model, duration, cost, outcome } = choices;
  const { sentLimit, limitClaims } = mergeLimits(a, b);
  const { composition, compositionEstimated } = mergeParts(choices.composition, a, b);
  // One literal, written out: a stream repeats its turn, and spreading takes longer than the merge.
  const merged: TurnFacts = {
    key: a.key,
    at: Math.min(a.at, b.at),
    model: model === "both" ? laterText(a.model, b.model) : (model === "a" ? a : b).model,
    usage: mergeUsages(choices, a, b),
    seq: larger(a.seq, b.seq),
    sentWindow: larger(a.sentWindow, b.sentWindow),
    sentLimit,
    estimated: prompt === "both" ? a.estimated && b.estimated : (prompt === "a" ? a : b).estimated,
    compaction: a.compaction || b.compaction,
    composition,
    compositionEstimated,
    durationMs: take(duration, a.durationMs, b.durationMs),
    costUsd: take(cost, a.costUsd, b.costUsd),
    isToolResult: a.isToolResult && b.isToolResult,
    resultOf: a.isToolResult && b.isToolResult ? larger(a.resultOf, b.resultOf) : undefined,
    tool: a.isToolResult && b.isToolResult ? larger(a.tool, b.tool) : undefined,
    outcome: outcome === "both" ? mergeOutcomes(a.outcome, b.outcome) : (outcome === "a" ? a : b).outcome,
    provenance: a.provenance,
    limitClaims,
  };
  merged.provenance = mergeProvenance(a, b, choices, (field) => WEIGHTS[field](merged) > 0);
  return merged;
}

/** How much a report says of a field; 0 if nothing. */
const WEIGHTS: Record<WitnessedField, (facts: TurnFacts) => number> = {
  prompt: promptWeight,
  output: ({ usage }) => weightOf(usage.output_tokens),
  reasoning: ({ usage }) => weightOf(usage.reasoning_tokens),
  model: () => 1,
  // Counted parts replace estimated ones.
  composition: ({ composition, compositionEstimated }) =>
    composition === undefined ? 0 : compositionEstimated ? 1 : 2,
  duration: ({ durationMs }) => weightOf(durationMs),
  cost: ({ costUsd }) => weightOf(costUsd),
  outcome: ({ outcome }) => weightOf(outcome),
};

const weightOf = (value: unknown): 0 | 1 => (value === undefined ? 0 : 1);

function choicesOf(a: TurnFacts, b: TurnFacts): Choices {
  const of = (field: WitnessedField) => choose(field, a, b, WEIGHTS[field](a), WEIGHTS[field](b));
  // Reports of the same witnesses, as most repeats are: only an estimate makes way.
  const isSame = a.provenance === b.provenance;
  return {
    prompt: of("prompt"),
    output: isSame ? "both" : of("output"),
    reasoning: isSame ? "both" : of("reasoning"),
    model: isSame ? "both" : of("model"),
    composition: of("composition"),
    duration: isSame ? "both" : of("duration"),
    cost: isSame ? "both" : of("cost"),
    outcome: isSame ? "both" : of("outcome"),
  };
}

function take(choice: Choice, a: number | undefined, b: number | undefined): number | undefined {
  return choice === "both" ? larger(a, b) : choice === "a" ? a : b;
}

const laterText = (a: string, b: string) => (compareText(a, b) > 0 ? a : b);

/** The prompt is taken as a whole, because the basis says what the input includes. */
function mergeUsages(choices: Choices, one: TurnFacts, other: TurnFacts): Usage {
  const { output, reasoning } = choices;
  const prompt = choices.prompt === "both" ? wholePrompt(one, other) : choices.prompt;
  const { usage: a } = one;
  const { usage: b } = other;
  return {
    input_tokens: take(prompt, a.input_tokens, b.input_tokens),
    cache_read_tokens: take(prompt, a.cache_read_tokens, b.cache_read_tokens),
    cache_write_tokens: take(prompt, a.cache_write_tokens, b.cache_write_tokens),
    // Few witnesses tell how long a write lives, so the trust in them does not decide. `hourWrite` bounds it.
    cache_write_1h_tokens: larger(a.cache_write_1h_tokens, b.cache_write_1h_tokens),
    output_tokens: take(output, a.output_tokens, b.output_tokens),
    reasoning_tokens: take(reasoning, a.reasoning_tokens, b.reasoning_tokens),
    basis: prompt === "both" ? mergeBasis(a.basis, b.basis) : (prompt === "a" ? a : b).basis,
  };
}

/** A harness may report a prompt in parts. Any other witness reports it as a whole, each time. */
function wholePrompt(a: TurnFacts, b: TurnFacts): Choice {
  const isInParts = [a, b].some(({ provenance }) => witnessCode(provenance, "prompt") === 0);
  if (isInParts) return "both";
  return largerPrompt(a.usage, b.usage) === a.usage ? "a" : "b";
}

/** A report that only counts the output says nothing of the prompt, measured or not. */
function promptWeight({ usage, estimated }: TurnFacts): 0 | 1 | 2 {
  const counted =
    usage.input_tokens !== undefined ||
    usage.cache_read_tokens !== undefined ||
    usage.cache_write_tokens !== undefined;
  if (!counted) return 0;
  return estimated ? 1 : 2;
}

function mergeParts(
  choice: Choice,
  a: TurnFacts,
  b: TurnFacts,
): Pick<TurnFacts, "composition" | "compositionEstimated"> {
  if (choice === "both") {
    return {
      composition: mergeComposition(a.composition, b.composition),
      compositionEstimated: a.compositionEstimated || b.compositionEstimated,
    };
  }
  const { composition, compositionEstimated } = choice === "a" ? a : b;
  return { composition, compositionEstimated };
}

function outcomeOf({ outcome, stop_reason: stop }: TurnEvent): ToolOutcome | undefined {
  if (stop === "cut_off") return { ...outcome, cut_off: 1 };
  return outcome !== undefined && OUTCOME_COUNTS.some((name) => outcome[name] !== undefined)
    ? outcome
    : undefined;
}

/** Each count is the largest: a recording that is read while it grows has more of them later. */
export function mergeOutcomes(
  a: ToolOutcome | undefined,
  b: ToolOutcome | undefined,
): ToolOutcome | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Object.fromEntries(OUTCOME_COUNTS.map((name) => [name, larger(a[name], b[name])]));
}

export function sameOutcome(a: ToolOutcome | undefined, b: ToolOutcome | undefined): boolean {
  return OUTCOME_COUNTS.every((name) => a?.[name] === b?.[name]);
}

function mergeComposition(a: Composition | undefined, b: Composition | undefined): Composition | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const merged = {} as Composition;
  for (const part of COMPOSITION_PARTS) merged[part] = larger(a[part], b[part]);
  return merged;
}
