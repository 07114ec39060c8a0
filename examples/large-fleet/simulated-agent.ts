import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { between, type RandomSource, seededRandom, seedOf } from "./random.ts";

/** What ends a rise of the level. `unexplained` sends nothing, as a model server that truncates silently. */
export type FallKind = "masked" | "compacted" | "subtick" | "restarted" | "cleared" | "unexplained";

/** How the agents of one harness fill their window. Levels are shares of the window. */
export interface AgentShape {
  harness: string;
  model: string;
  kind: "conversation" | "loop" | "phase" | "agent";
  /** Tokens, as the harness reports them; absent if it reports none. */
  reported?: number;
  /** The real size of the window, in tokens. */
  window: number;
  start: number;
  /** Levels at which the harness acts, and after it did. */
  high: number;
  low: number;
  /** What it does at the high mark, in turn. */
  falls: readonly FallKind[];
  /** Share of the window that one turn adds, at most. */
  growth: number;
  /** US dollars for a million tokens of input; absent if the harness reports no cost. */
  pricePerMillion?: number;
}

export interface AgentPlan {
  shape: AgentShape;
  session: string;
  title: string;
  agent?: string;
  parent?: string;
  /** The level that it begins at; the shape's start by default. */
  level?: number;
}

/** A provider keeps a cache for so long after its last use, ms. */
const CACHE_LIFE = 5 * 60_000;
/** Tokens from which on calls fail more often. */
const FULL_FROM = 100_000;
/** Once in so many turns the tools change, so that the whole prompt differs from the cached one. */
const TOOLS_CHANGE = 150;

const TOOLS = ["bash", "read_file", "search", "web_fetch", "apply_patch"];

/** One agent that works: each step is a turn, and at the shape's high mark something lowers its level. */
export class SimulatedAgent {
  readonly plan: AgentPlan;
  readonly #random: RandomSource;
  #level: number;
  #high: number;
  #turns = 0;
  #marks = 0;
  #falls = 0;
  #subtick = 0;
  #restarts = 0;
  #sinceFall = 0;
  /** Tokens that the provider's cache has, of the prompt of the latest turn. */
  #cached = 0;
  #lastAt = 0;

  constructor(plan: AgentPlan, random: RandomSource) {
    this.plan = plan;
    this.#random = random;
    this.#level = plan.level ?? plan.shape.start;
    this.#high = this.#nextHigh();
  }

  /** The level as a share of the window. */
  get level(): number {
    return this.#level;
  }

  /** The event that opens the session; none for a sub-agent. */
  begin(at: number): PlimsollEventInput[] {
    const { agent, title, shape } = this.plan;
    return agent === undefined
      ? [this.#mark("session", at, { status: "started", kind: shape.kind, title })]
      : [];
  }

  /** One turn, and the boundary before it if the level was at the high mark. */
  step(at: number): PlimsollEventInput[] {
    const events = this.#level >= this.#high ? this.#fall(at - 300) : [];
    return [...events, this.#turn(at)];
  }

  /** All events of an agent that has taken so many turns, the last one at `until`; `pace` is the ms between two. */
  workedUntil(until: number, turns: number, pace: number): PlimsollEventInput[] {
    const from = until - turns * pace;
    const events = this.begin(from - 1_000);
    for (let turn = 1; turn <= turns; turn++) events.push(...this.step(from + turn * pace));
    return events;
  }

  end(at: number, reason: string): PlimsollEventInput[] {
    return this.plan.agent === undefined ? [this.#mark("session", at, { status: "ended", reason })] : [];
  }

  #nextHigh(): number {
    return this.plan.shape.high * between(this.#random, 0.96, 1.02);
  }

  #turn(at: number): PlimsollEventInput {
    const { shape } = this.plan;
    const random = this.#random;
    const before = this.#level;
    this.#level = before + shape.growth * (0.05 + random() ** 3);
    const tokens = Math.max(900, Math.round(this.#level * shape.window));
    const fresh = Math.min(tokens, Math.max(300, Math.round((this.#level - before) * shape.window)));
    const base = Math.min(Math.round(tokens / 2), Math.round(0.03 * shape.window));
    const rest = tokens - base;
    const lost = at - this.#lastAt > CACHE_LIFE || this.#turns % TOOLS_CHANGE === TOOLS_CHANGE - 1;
    // Of what was there before a fall, the cache has only the beginning.
    const had = lost ? 0 : this.#sinceFall === 0 ? Math.min(this.#cached, base) : this.#cached;
    const read = Math.min(tokens - fresh, had);
    const written = tokens - fresh - read;
    this.#cached = tokens;
    this.#lastAt = at;
    const output = Math.round(120 + random() ** 2 * 1_900);
    this.#turns += 1;
    this.#sinceFall += 1;
    return {
      ...this.#identity(`t${this.#turns}`, at),
      type: "turn",
      model: shape.model,
      usage: {
        input_tokens: fresh,
        cache_read_tokens: read,
        ...(written > 0 ? { cache_write_tokens: written } : {}),
        output_tokens: output,
        basis: "exclusive",
      },
      ...(shape.reported === undefined ? {} : { context_window: shape.reported }),
      outcome: this.#outcome(tokens),
      duration_ms: Math.round(2_500 + random() ** 2 * 26_000),
      ...(shape.pricePerMillion === undefined
        ? {}
        : { cost_usd: ((fresh + read / 10 + written * 1.25 + output * 5) * shape.pricePerMillion) / 1e6 }),
      composition: {
        system: Math.round(base * 0.45),
        tools: Math.round(base * 0.55),
        memory: Math.round(rest * 0.09),
        history: Math.round(rest * 0.27),
        tool_output: Math.round(rest * 0.64),
      },
    } as PlimsollEventInput;
  }

  /** Calls fail more often where the window is full, and repeat what a fall took away. */
  #outcome(tokens: number) {
    const calls = 1 + Math.floor(2 * this.#chance("calls"));
    const failed = this.#chance("failed") < (tokens > FULL_FROM ? 0.2 : 0.09) ? 1 : 0;
    const repeated =
      this.#chance("repeated") < (this.#falls > 0 && this.#sinceFall <= 12 ? 0.3 : 0.08) ? 1 : 0;
    const rejected = this.plan.shape.kind === "conversation" && this.#chance("rejected") < 0.02 ? 1 : 0;
    return { calls, failed, repeated, rejected };
  }

  /** A number from 0 to 1 that depends on the turn alone, so that other draws stay as they are. */
  #chance(what: string): number {
    return seededRandom(seedOf(`${this.plan.session}/${this.plan.agent}/${this.#turns}/${what}`))();
  }

  #fall(at: number): PlimsollEventInput[] {
    const { shape } = this.plan;
    const random = this.#random;
    const before = Math.round(this.#level * shape.window);
    const fall = shape.falls[this.#falls++ % shape.falls.length]!;
    this.#level = fall === "cleared" ? shape.start : shape.low * between(random, 0.9, 1.15);
    this.#high = this.#nextHigh();
    const after = Math.round(this.#level * shape.window);
    const turns = this.#sinceFall;
    this.#sinceFall = 0;
    const sizes = { tokens_before: before, tokens_after: after };
    switch (fall) {
      case "masked":
        return [
          this.#mark("masked", at, {
            observations: 4 + Math.floor(random() * 14),
            tools: TOOLS.slice(0, 1 + Math.floor(random() * TOOLS.length)),
            ...sizes,
          }),
        ];
      case "compacted":
        return [this.#mark("compacted", at, { trigger: random() < 0.85 ? "auto" : "manual", ...sizes })];
      case "cleared":
        return [this.#mark("cleared", at, sizes)];
      case "subtick":
        this.#subtick += 1;
        return [
          this.#mark("subtick", at, {
            loop: "7c1e",
            tick: 4,
            sub: this.#subtick,
            tokens_before: before,
            handoff_tokens: Math.round(after * 0.4),
            reason: "The context ceiling was crossed",
            visible: true,
          }),
        ];
      case "restarted":
        this.#restarts += 1;
        return [
          this.#mark("restarted", at, {
            number: this.#restarts + 1,
            previous_turns: turns,
            carryover_turns: 4,
            reason: "The hard limit was near",
          }),
        ];
      case "unexplained":
        return [];
    }
  }

  #identity(id: string, at: number) {
    const { shape, session, agent, parent } = this.plan;
    return {
      id: `${agent ?? "main"}-${id}`,
      at: Math.round(at),
      harness: shape.harness,
      session,
      ...(agent === undefined ? {} : { agent }),
      ...(parent === undefined ? {} : { parent_agent: parent }),
    };
  }

  #mark(type: string, at: number, fields: Record<string, unknown>): PlimsollEventInput {
    this.#marks += 1;
    return { ...this.#identity(`m${this.#marks}`, at), type, ...fields } as PlimsollEventInput;
  }
}
