import type { PlimsollEventInput } from "@plimsoll/protocol";
import { Story } from "./story.ts";

type Send = (events: readonly object[]) => Promise<unknown>;
type Random = () => number;

/** The same fleet each time: a picture of it changes only with the product. */
function seeded(seed: number): Random {
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
interface Tooth {
  from: number;
  to: number;
  turns: number;
  fall?: Fall;
}

interface Life {
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
  teeth: Tooth[];
  /** Epoch ms of the last turn. */
  until: number;
  /** Milliseconds between turns, about. */
  pace: number;
  ended?: string;
  composition?: boolean;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Rises from one level to another by uneven steps: some answers are long, most are short. */
function rise({ from, to, turns }: Tooth, window: number, random: Random): number[] {
  const steps = Array.from({ length: Math.max(0, turns - 1) }, () => 0.25 + random() ** 3 * 3);
  const sum = steps.reduce((total, step) => total + step, 0);
  let level = from;
  return [from, ...steps.map((step) => (level += ((to - from) * step) / sum))].map((share) =>
    Math.round(share * window + random() * 40),
  );
}

const TOOLS = ["bash", "read_file", "search", "web_fetch"];

function tell(life: Life, random: Random): PlimsollEventInput[] {
  const { window, teeth, agent, parent, composition = true, reports = true } = life;
  const gaps: number[] = [];
  const parts = teeth.map((tooth) => rise(tooth, window, random));
  const count = parts.reduce((sum, levels) => sum + levels.length, 0);
  for (let turn = 0; turn < count; turn += 1) gaps.push(life.pace * (0.4 + random() * 1.2));
  const lasted = gaps.reduce((sum, gap) => sum + gap, 0) - gaps.at(-1)!;

  const story = new Story({
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

/** Who is at work now: near the line, over it, far below, and one whose window nobody knows. */
function atWork(now: number): Life[] {
  const ago = (seconds: number) => now - seconds * 1_000;
  const billing = {
    harness: "phantom@vm-3",
    session: "loop-7c1e",
    kind: "loop" as const,
    title: "refactor billing webhooks",
    model: "claude-opus-4-6",
    window: 1_000_000,
  };
  return [
    {
      ...billing,
      teeth: [
        { from: 0.008, to: 0.154, turns: 25, fall: "masked" },
        { from: 0.116, to: 0.211, turns: 15, fall: "subtick" },
        { from: 0.009, to: 0.079, turns: 13, fall: "unexplained" },
        { from: 0.061, to: 0.138, turns: 14, fall: "compacted" },
        { from: 0.092, to: 0.192, turns: 21 },
      ],
      until: ago(18),
      pace: 55_000,
    },
    {
      ...billing,
      agent: "researcher",
      parent: "main",
      model: "claude-haiku-4-5",
      window: 200_000,
      teeth: [{ from: 0.02, to: 0.124, turns: 16 }],
      until: ago(140),
      pace: 24_000,
    },
    {
      ...billing,
      agent: "test runner",
      parent: "main",
      model: "claude-haiku-4-5",
      window: 200_000,
      teeth: [{ from: 0.015, to: 0.061, turns: 9 }],
      until: ago(65),
      pace: 21_000,
    },
    {
      harness: "ouroboros@ci-2",
      session: "nightly-2291",
      kind: "loop",
      title: "nightly dependency sweep",
      model: "qwen3-coder:30b",
      window: 262_144,
      teeth: [
        { from: 0.02, to: 0.197, turns: 34, fall: "restarted" },
        { from: 0.03, to: 0.2, turns: 31, fall: "restarted" },
        { from: 0.032, to: 0.214, turns: 30 },
      ],
      until: ago(4),
      pace: 38_000,
    },
    {
      harness: "autopilot@build-1",
      session: "phase-20",
      kind: "phase",
      title: "migrate the search index",
      model: "claude-sonnet-4-6",
      window: 200_000,
      teeth: [
        { from: 0.03, to: 0.162, turns: 22, fall: "masked" },
        { from: 0.11, to: 0.171, turns: 17 },
      ],
      until: ago(9),
      pace: 41_000,
    },
    {
      harness: "autopilot@build-1",
      session: "phase-20",
      kind: "phase",
      title: "migrate the search index",
      agent: "phase-runner 20b",
      parent: "main",
      model: "claude-sonnet-4-6",
      window: 200_000,
      teeth: [{ from: 0.02, to: 0.112, turns: 19 }],
      until: ago(31),
      pace: 30_000,
    },
    {
      harness: "claude-code@laptop",
      session: "0d5f6c1e-77aa-4f0b-9b51-2f6f0f9f2f10",
      kind: "conversation",
      title: "make the release notes shorter",
      model: "claude-opus-4-6",
      window: 1_000_000,
      reports: false,
      composition: false,
      teeth: [
        { from: 0.021, to: 0.124, turns: 41, fall: "compacted" },
        { from: 0.028, to: 0.071, turns: 18 },
      ],
      until: ago(126),
      pace: 47_000,
    },
    {
      harness: "phantom@slack",
      session: "eng-help-1764",
      kind: "conversation",
      title: "#eng-help thread",
      model: "claude-opus-4-6",
      window: 1_000_000,
      teeth: [
        { from: 0.01, to: 0.136, turns: 30, fall: "masked" },
        { from: 0.088, to: 0.094, turns: 12 },
      ],
      until: ago(12 * 60),
      pace: 62_000,
    },
    {
      harness: "codex@ws-4",
      session: "rollout-2026-11-20",
      kind: "conversation",
      title: "find the flaky upload test",
      model: "gpt-5.2-codex",
      window: 272_000,
      composition: false,
      teeth: [{ from: 0.04, to: 0.083, turns: 14 }],
      until: ago(2),
      pace: 26_000,
    },
    {
      harness: "incident-bot@ops",
      session: "incident-418",
      kind: "agent",
      title: "summarise incident 418",
      model: "house-7b",
      window: 100_000,
      reports: false,
      composition: false,
      teeth: [{ from: 0.12, to: 0.41, turns: 11 }],
      until: ago(1),
      pace: 15_000,
    },
  ];
}

const TASKS = [
  "upgrade the payment SDK",
  "triage the crash reports",
  "write the quarterly summary",
  "split the orders table",
  "rename the feature flags",
  "port the importer to streams",
  "answer the audit questions",
  "tidy the Terraform modules",
  "review the rate limiter",
  "translate the onboarding mails",
  "chase the memory leak",
  "draft the incident review",
  "backfill the invoices",
  "shorten the build",
  "check the licences",
  "document the webhooks",
] as const;

const CREWS = [
  {
    harness: "phantom@vm-3",
    kind: "loop",
    model: "claude-opus-4-6",
    window: 1_000_000,
    falls: ["masked", "masked", "subtick"],
  },
  {
    harness: "phantom@vm-1",
    kind: "loop",
    model: "claude-opus-4-6",
    window: 1_000_000,
    falls: ["masked", "subtick"],
  },
  {
    harness: "ouroboros@ci-2",
    kind: "loop",
    model: "qwen3-coder:30b",
    window: 262_144,
    falls: ["restarted", "masked", "unexplained"],
  },
  {
    harness: "autopilot@build-1",
    kind: "phase",
    model: "claude-sonnet-4-6",
    window: 200_000,
    falls: ["masked", "compacted"],
  },
  {
    harness: "claude-code@laptop",
    kind: "conversation",
    model: "claude-opus-4-6",
    window: 1_000_000,
    falls: ["compacted", "cleared"],
  },
] as const;

/** What was done before: two days of it, so that there is a period to compare with. */
function done(now: number, sessions: number, random: Random): Life[] {
  return Array.from({ length: sessions }, (_, index) => {
    const crew = CREWS[index % CREWS.length]!;
    const teeth = Array.from({ length: 1 + Math.floor(random() * 4) }, (): Tooth => {
      const to = 0.07 + random() * 0.09 + (random() < 0.18 ? 0.05 : 0);
      return {
        from: 0.012 + random() * 0.035,
        to,
        turns: 8 + Math.floor(random() * 26),
        fall: crew.falls[Math.floor(random() * crew.falls.length)]!,
      };
    });
    const until = now - 20 * MINUTE - (index / sessions) * 46 * HOUR - random() * HOUR;
    return {
      harness: crew.harness,
      session: `${crew.kind}-${(index * 7919 + 4096).toString(16)}`,
      kind: crew.kind,
      title: `${TASKS[index % TASKS.length]}${index < TASKS.length ? "" : `, part ${1 + Math.floor(index / TASKS.length)}`}`,
      model: crew.model,
      window: crew.window,
      teeth,
      until,
      pace: 60_000 + random() * 90_000,
      ended: "done",
    };
  });
}

export interface FleetOptions {
  /** Everything under one harness; each has its own when absent. */
  harness?: string;
  /** Sessions that have ended. */
  sessions?: number;
  /** Epoch ms. */
  now?: number;
}

/** A small company's agents on an ordinary day. @returns the title of the session with the most to tell */
export async function seedFleet(
  send: Send,
  { harness, sessions = 5, now = Date.now() }: FleetOptions = {},
): Promise<{ story: string }> {
  const random = seeded(20_261_120);
  const lives = [...done(now, sessions, random), ...atWork(now)].map((life) =>
    harness === undefined ? life : { ...life, harness },
  );
  const events = lives.flatMap((life) => tell(life, random));
  for (let from = 0; from < events.length; from += 5_000) await send(events.slice(from, from + 5_000));
  return { story: "refactor billing webhooks" };
}

/** More than fits a screen, and names longer than any column. */
export async function seedCrowd(send: Send, harness: string, agents = 60): Promise<void> {
  const random = seeded(7);
  const now = Date.now();
  const long =
    "Investigate why the nightly reconciliation of supplier invoices disagrees with the ledger by a few cents in every currency but one, and write down what was found";
  const events = Array.from({ length: agents }, (_, index) => {
    const to = 0.01 + random() * 0.24;
    return tell(
      {
        harness,
        session: `crowd-${index}-${"0123456789abcdef".repeat(index % 3)}`,
        kind: "agent",
        title: index % 4 === 0 ? `${long} (${index})` : `${TASKS[index % TASKS.length]} ${index}`,
        model:
          index % 5 === 0 ? "vendor/a-model-with-a-very-long-name-preview-2026-11-20" : "claude-opus-4-6",
        window: 200_000,
        teeth: [{ from: Math.min(0.01, to), to, turns: 4 + Math.floor(random() * 20) }],
        until: now - random() * 10 * MINUTE,
        pace: 20_000,
      },
      random,
    );
  }).flat();
  await send(events);
}
