import {
  OUTCOME_COUNTS,
  STOP_REASONS,
  type StopReason,
  type ToolOutcome,
  WITNESSES,
  type Witness,
} from "../terms.ts";
import { DEFAULT_AGENT, instantMs, isInRange, LARGEST, LONGEST, mostOf } from "./event-rules.ts";
import type { Basis, Composition, TurnEvent, Usage } from "./events.ts";
import { branchName, machineName, repositoryName } from "./origin-names.ts";

/** Stands for "not what a plain turn has here". */
const NOT_PLAIN = -1;

/**
 * Reads a turn as `TurnEvent` does; undefined where that refuses it, which can then say why. Nearly every event is a
 * turn, and the general schema takes 17 us for one where this takes 0.7.
 */
export function readPlainTurn(value: object): TurnEvent | undefined {
  const sent = value as Record<keyof TurnEvent, unknown>;
  const { id, harness, session, agent = DEFAULT_AGENT, parent_agent, own_session, model } = sent;
  const { estimated, purpose, composition_estimated, stop_reason, witness, machine, repository, branch } =
    sent;
  if (
    // Few turns have it.
    sent.contents !== undefined ||
    !isText(id, LONGEST.id) ||
    !isText(harness, LONGEST.harness) ||
    !isText(session, LONGEST.session) ||
    !isText(agent, LONGEST.agent) ||
    !isText(model, LONGEST.model) ||
    !(parent_agent === undefined || isText(parent_agent, LONGEST.agent)) ||
    !(own_session === undefined || isText(own_session, LONGEST.session)) ||
    !isMaybeString(machine) ||
    !isMaybeString(repository) ||
    !isMaybeString(branch) ||
    !(estimated === undefined || typeof estimated === "boolean") ||
    !(composition_estimated === undefined || typeof composition_estimated === "boolean") ||
    !(purpose === undefined || purpose === "compaction") ||
    !isOneOf<StopReason>(STOP_REASONS, stop_reason) ||
    !isOneOf<Witness>(WITNESSES, witness)
  ) {
    return undefined;
  }
  const at = typeof sent.at === "string" || typeof sent.at === "number" ? instantMs(sent.at) : Number.NaN;
  const window = wholeUpTo(LARGEST.window, sent.window);
  const seq = wholeUpTo(LARGEST.integer, sent.seq);
  const limit = wholeUpTo(LARGEST.tokens, sent.context_window);
  const duration = upTo(LARGEST.integer, sent.duration_ms);
  const cost = upTo(LARGEST.costUsd, sent.cost_usd);
  const usage = readUsage(sent.usage);
  const composition = sent.composition === undefined ? undefined : readComposition(sent.composition);
  const outcome = sent.outcome === undefined ? undefined : readOutcome(sent.outcome);
  if (
    !isInRange(at) ||
    window === NOT_PLAIN ||
    seq === NOT_PLAIN ||
    limit === NOT_PLAIN ||
    limit === 0 ||
    duration === NOT_PLAIN ||
    cost === NOT_PLAIN ||
    usage === undefined ||
    (composition === undefined && sent.composition !== undefined) ||
    (outcome === undefined && sent.outcome !== undefined)
  ) {
    return undefined;
  }
  return {
    id,
    at,
    harness,
    session,
    agent,
    parent_agent,
    own_session,
    window,
    machine: machine === undefined ? undefined : machineName(machine),
    repository: repository === undefined ? undefined : repositoryName(repository),
    branch: branch === undefined ? undefined : branchName(branch),
    type: "turn",
    model,
    seq,
    usage,
    context_window: limit,
    estimated,
    composition,
    composition_estimated,
    duration_ms: duration === undefined ? undefined : Math.round(duration),
    cost_usd: cost,
    purpose,
    stop_reason,
    outcome,
    witness,
  };
}

function readUsage(value: unknown): Usage | undefined {
  if (!isObject<Usage>(value)) return undefined;
  const input = tokens(value.input_tokens);
  const cacheRead = tokens(value.cache_read_tokens);
  const cacheWrite = tokens(value.cache_write_tokens);
  const cacheWriteHour = tokens(value.cache_write_1h_tokens);
  const output = tokens(value.output_tokens);
  const reasoning = tokens(value.reasoning_tokens);
  if (
    input === NOT_PLAIN ||
    cacheRead === NOT_PLAIN ||
    cacheWrite === NOT_PLAIN ||
    cacheWriteHour === NOT_PLAIN ||
    output === NOT_PLAIN ||
    reasoning === NOT_PLAIN ||
    !isBasis(value.basis)
  ) {
    return undefined;
  }
  return {
    input_tokens: input,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_1h_tokens: cacheWriteHour,
    output_tokens: output,
    reasoning_tokens: reasoning,
    basis: value.basis,
  };
}

function readComposition(value: unknown): Composition | undefined {
  if (!isObject<Composition>(value)) return undefined;
  const system = tokens(value.system);
  const tools = tokens(value.tools);
  const memory = tokens(value.memory);
  const history = tokens(value.history);
  const toolOutput = tokens(value.tool_output);
  const other = tokens(value.other);
  const plain =
    system !== NOT_PLAIN &&
    tools !== NOT_PLAIN &&
    memory !== NOT_PLAIN &&
    history !== NOT_PLAIN &&
    toolOutput !== NOT_PLAIN &&
    other !== NOT_PLAIN;
  return plain ? { system, tools, memory, history, tool_output: toolOutput, other } : undefined;
}

function readOutcome(value: unknown): TurnEvent["outcome"] {
  if (!isObject<ToolOutcome>(value)) return undefined;
  const outcome = {} as NonNullable<TurnEvent["outcome"]>;
  for (const name of OUTCOME_COUNTS) {
    const count = value[name] === null ? undefined : wholeUpTo(LARGEST.integer, value[name]);
    if (count === NOT_PLAIN) return undefined;
    outcome[name] = count === undefined ? undefined : Math.min(count, mostOf(name));
  }
  return outcome;
}

function isText(value: unknown, longest: number): value is string {
  return (
    typeof value === "string" &&
    value.length > 0 &&
    value.length <= longest &&
    !value.includes("\u0000") &&
    value.isWellFormed()
  );
}

const isMaybeString = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

function isObject<Shape>(value: unknown): value is Record<keyof Shape, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBasis(value: unknown): value is Basis | undefined {
  return value === undefined || value === "inclusive" || value === "exclusive";
}

function isOneOf<Word>(words: readonly Word[], value: unknown): value is Word | undefined {
  return value === undefined || (words as readonly unknown[]).includes(value);
}

/** `null` says the same as leaving a count out. */
function tokens(value: unknown): number | undefined {
  return value === null ? undefined : wholeUpTo(LARGEST.tokens, value);
}

function wholeUpTo(largest: number, value: unknown): number | undefined {
  return value === undefined || Number.isInteger(value) ? upTo(largest, value) : NOT_PLAIN;
}

function upTo(largest: number, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  return typeof value === "number" && value >= 0 && value <= largest ? value : NOT_PLAIN;
}
