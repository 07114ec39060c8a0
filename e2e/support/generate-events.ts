import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { EventBuilder } from "./event-builder.ts";

export type Random = () => number;

/** A seeded random generator (mulberry32), so that every run generates the same events. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type GeneratedBoundary = "masked" | "compacted" | "subtick" | "restarted" | "unexplained" | "cleared";

/** One rise of the level and the boundary that ended it. Levels are shares of the window. */
export interface LevelRise {
  from: number;
  to: number;
  turns: number;
  boundary?: GeneratedBoundary;
}

export interface SampleAgent {
  harness: string;
  session: string;
  kind: "conversation" | "loop" | "phase" | "agent";
  title: string;
  model: string;
  /** Window size in tokens. Sent to the server only if `reports`. */
  window: number;
  reports?: boolean;
  agent?: string;
  parent?: string;
  rises: LevelRise[];
  /** Epoch ms of the last turn. */
  until: number;
  /** Average milliseconds between turns. */
  pace: number;
  ended?: string;
  composition?: boolean;
}

/** Levels that rise from one level to another in uneven steps, as real answers do. */
function rise({ from, to, turns }: LevelRise, window: number, random: Random): number[] {
  const steps = Array.from({ length: Math.max(0, turns - 1) }, () => 0.25 + random() ** 3 * 3);
  const sum = steps.reduce((total, step) => total + step, 0);
  let level = from;
  return [from, ...steps.map((step) => (level += ((to - from) * step) / sum))].map((share) =>
    Math.round(share * window + random() * 40),
  );
}

const TOOLS = ["bash", "read_file", "search", "web_fetch"];

/** All events of an agent, in order. */
export function eventsOf(sample: SampleAgent, random: Random): PlimsollEventInput[] {
  const { window, rises, agent, parent, composition = true, reports = true } = sample;
  const gaps: number[] = [];
  const parts = rises.map((rising) => rise(rising, window, random));
  const count = parts.reduce((sum, levels) => sum + levels.length, 0);
  for (let turn = 0; turn < count; turn += 1) gaps.push(sample.pace * (0.4 + random() * 1.2));
  const durationMs = gaps.reduce((sum, gap) => sum + gap, 0) - gaps.at(-1)!;

  const builder = new EventBuilder({
    harness: sample.harness,
    session: sample.session,
    model: sample.model,
    start: sample.until - durationMs,
    pace: 0,
    ...(reports ? { window } : {}),
    ...(agent === undefined ? {} : { agent }),
    ...(parent === undefined ? {} : { parent }),
  });
  if (agent === undefined)
    builder.event("session", { status: "started", kind: sample.kind, title: sample.title });
  let previous = 0;
  let subtick = 0;
  let restarts = 0;
  let turns = 0;
  rises.forEach((rising, index) => {
    const levels = parts[index]!;
    for (const level of levels) {
      const fresh = Math.max(200, level - previous);
      const base = Math.min(level, 0.012 * window);
      builder.turn(level, {
        usage: {
          input_tokens: Math.min(fresh, level),
          cache_read_tokens: Math.max(0, level - fresh),
          output_tokens: Math.round(120 + random() ** 2 * 1_900),
          basis: "exclusive",
        },
        duration_ms: Math.round(2_500 + random() ** 2 * 26_000),
        ...(composition
          ? {
              composition: {
                system: Math.round(base * 0.45),
                tools: Math.round(base * 0.55),
                memory: Math.round((level - base) * 0.09),
                history: Math.round((level - base) * 0.24),
                tool_output: Math.round((level - base) * 0.64),
              },
            }
          : {}),
      });
      previous = level;
      turns += 1;
      builder.pause(gaps[turns - 1]!);
    }
    const next = parts[index + 1]?.[0];
    if (next === undefined || rising.boundary === undefined) return;
    // A boundary follows the turn that caused it.
    const at = Math.round(builder.at - gaps[turns - 1]! + 800);
    const sizes = { tokens_before: previous, tokens_after: next };
    switch (rising.boundary) {
      case "masked":
        builder.event("masked", {
          at,
          observations: 4 + Math.floor(random() * 14),
          ...sizes,
          tools: TOOLS.slice(0, 1 + Math.floor(random() * TOOLS.length)),
        });
        break;
      case "compacted":
        builder.event("compacted", { at, trigger: random() < 0.8 ? "auto" : "manual", ...sizes });
        break;
      case "cleared":
        builder.event("cleared", { at, ...sizes });
        break;
      case "subtick":
        subtick += 1;
        builder.event("subtick", {
          at,
          loop: "7c1e",
          tick: 4,
          sub: subtick,
          tokens_before: previous,
          handoff_tokens: Math.round(next * 0.4),
          reason: "The context ceiling was crossed",
          visible: true,
        });
        break;
      case "restarted":
        restarts += 1;
        builder.event("restarted", {
          at,
          number: restarts + 1,
          previous_turns: levels.length,
          carryover_turns: 4,
          reason: "The hard limit was near",
        });
        break;
      case "unexplained":
        break;
    }
  });
  if (sample.ended !== undefined) builder.event("session", { status: "ended", reason: sample.ended });
  return builder.events;
}
