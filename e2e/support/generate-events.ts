import type { PlimsollEventInput } from "@plimsoll/protocol";
import { EventBuilder } from "./event-builder.ts";

export type Random = () => number;

/** The same fleet each time: a picture of it changes only with the product. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Fall = "masked" | "compacted" | "subtick" | "restarted" | "unexplained" | "cleared";

/** One rise of the level, and what ended it. Levels as shares of the window. */
export interface LevelRise {
  from: number;
  to: number;
  turns: number;
  fall?: Fall;
}

export interface SampleAgent {
  harness: string;
  session: string;
  kind: "conversation" | "loop" | "phase" | "agent";
  title: string;
  model: string;
  /** Tokens; what the levels are shares of, told to the server only when `reports`. */
  window: number;
  reports?: boolean;
  agent?: string;
  parent?: string;
  teeth: LevelRise[];
  /** Epoch ms of the last turn. */
  until: number;
  /** Milliseconds between turns, about. */
  pace: number;
  ended?: string;
  composition?: boolean;
}

/** Rises from one level to another by uneven steps: some answers are long, most are short. */
function rise({ from, to, turns }: LevelRise, window: number, random: Random): number[] {
  const steps = Array.from({ length: Math.max(0, turns - 1) }, () => 0.25 + random() ** 3 * 3);
  const sum = steps.reduce((total, step) => total + step, 0);
  let level = from;
  return [from, ...steps.map((step) => (level += ((to - from) * step) / sum))].map((share) =>
    Math.round(share * window + random() * 40),
  );
}

const TOOLS = ["bash", "read_file", "search", "web_fetch"];

/** All events of a life, in order. */
export function eventsOf(life: SampleAgent, random: Random): PlimsollEventInput[] {
  const { window, teeth, agent, parent, composition = true, reports = true } = life;
  const gaps: number[] = [];
  const parts = teeth.map((tooth) => rise(tooth, window, random));
  const count = parts.reduce((sum, levels) => sum + levels.length, 0);
  for (let turn = 0; turn < count; turn += 1) gaps.push(life.pace * (0.4 + random() * 1.2));
  const lasted = gaps.reduce((sum, gap) => sum + gap, 0) - gaps.at(-1)!;

  const story = new EventBuilder({
    harness: life.harness,
    session: life.session,
    model: life.model,
    start: life.until - lasted,
    pace: 0,
    ...(reports ? { window } : {}),
    ...(agent === undefined ? {} : { agent }),
    ...(parent === undefined ? {} : { parent }),
  });
  if (agent === undefined) story.mark("session", { status: "started", kind: life.kind, title: life.title });
  let previous = 0;
  let subtick = 0;
  let restarts = 0;
  let turns = 0;
  teeth.forEach((tooth, index) => {
    const levels = parts[index]!;
    for (const level of levels) {
      const fresh = Math.max(200, level - previous);
      const base = Math.min(level, 0.012 * window);
      story.turn(level, {
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
      story.pause(gaps[turns - 1]!);
    }
    const next = parts[index + 1]?.[0];
    if (next === undefined || tooth.fall === undefined) return;
    // A fall comes just after the turn that caused it.
    const at = Math.round(story.at - gaps[turns - 1]! + 800);
    const sizes = { tokens_before: previous, tokens_after: next };
    switch (tooth.fall) {
      case "masked":
        story.mark("masked", {
          at,
          observations: 4 + Math.floor(random() * 14),
          ...sizes,
          tools: TOOLS.slice(0, 1 + Math.floor(random() * TOOLS.length)),
        });
        break;
      case "compacted":
        story.mark("compacted", { at, trigger: random() < 0.8 ? "auto" : "manual", ...sizes });
        break;
      case "cleared":
        story.mark("cleared", { at, ...sizes });
        break;
      case "subtick":
        subtick += 1;
        story.mark("subtick", {
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
        story.mark("restarted", {
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
  if (life.ended !== undefined) story.mark("session", { status: "ended", reason: life.ended });
  return story.events;
}
