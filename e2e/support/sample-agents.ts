import type { LevelRise, Random, SampleAgent } from "./generate-events.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Live agents: near the line, over it, far below it, and one with an unknown window size. */
export function runningAgents(now: number): SampleAgent[] {
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
      rises: [
        { from: 0.008, to: 0.154, turns: 25, boundary: "masked" },
        { from: 0.116, to: 0.211, turns: 15, boundary: "subtick" },
        { from: 0.009, to: 0.079, turns: 13, boundary: "unexplained" },
        { from: 0.061, to: 0.138, turns: 14, boundary: "compacted" },
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
      rises: [{ from: 0.02, to: 0.124, turns: 16 }],
      until: ago(140),
      pace: 24_000,
    },
    {
      ...billing,
      agent: "test runner",
      parent: "main",
      model: "claude-haiku-4-5",
      window: 200_000,
      rises: [{ from: 0.015, to: 0.061, turns: 9 }],
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
      rises: [
        { from: 0.02, to: 0.197, turns: 34, boundary: "restarted" },
        { from: 0.03, to: 0.2, turns: 31, boundary: "restarted" },
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
      rises: [
        { from: 0.03, to: 0.162, turns: 22, boundary: "masked" },
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
      rises: [{ from: 0.02, to: 0.112, turns: 19 }],
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
      rises: [
        { from: 0.021, to: 0.124, turns: 41, boundary: "compacted" },
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
      rises: [
        { from: 0.01, to: 0.136, turns: 30, boundary: "masked" },
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
      rises: [{ from: 0.04, to: 0.083, turns: 14 }],
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
      rises: [{ from: 0.12, to: 0.41, turns: 11 }],
      until: ago(1),
      pace: 15_000,
    },
  ];
}

export const TASKS = [
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

const TEMPLATES = [
  {
    harness: "phantom@vm-3",
    kind: "loop",
    model: "claude-opus-4-6",
    window: 1_000_000,
    boundaries: ["masked", "masked", "subtick"],
  },
  {
    harness: "phantom@vm-1",
    kind: "loop",
    model: "claude-opus-4-6",
    window: 1_000_000,
    boundaries: ["masked", "subtick"],
  },
  {
    harness: "ouroboros@ci-2",
    kind: "loop",
    model: "qwen3-coder:30b",
    window: 262_144,
    boundaries: ["restarted", "masked", "unexplained"],
  },
  {
    harness: "autopilot@build-1",
    kind: "phase",
    model: "claude-sonnet-4-6",
    window: 200_000,
    boundaries: ["masked", "compacted"],
  },
  {
    harness: "claude-code@laptop",
    kind: "conversation",
    model: "claude-opus-4-6",
    window: 1_000_000,
    boundaries: ["compacted", "cleared"],
  },
] as const;

/** Ended sessions over two days, so that the previous period has data. */
export function endedSessions(now: number, sessions: number, random: Random): SampleAgent[] {
  return Array.from({ length: sessions }, (_, index) => {
    const template = TEMPLATES[index % TEMPLATES.length]!;
    const rises = Array.from({ length: 1 + Math.floor(random() * 4) }, (): LevelRise => {
      const to = 0.07 + random() * 0.09 + (random() < 0.18 ? 0.05 : 0);
      return {
        from: 0.012 + random() * 0.035,
        to,
        turns: 8 + Math.floor(random() * 26),
        boundary: template.boundaries[Math.floor(random() * template.boundaries.length)]!,
      };
    });
    const until = now - 20 * MINUTE - (index / sessions) * 46 * HOUR - random() * HOUR;
    return {
      harness: template.harness,
      session: `${template.kind}-${(index * 7919 + 4096).toString(16)}`,
      kind: template.kind,
      title: `${TASKS[index % TASKS.length]}${index < TASKS.length ? "" : `, part ${1 + Math.floor(index / TASKS.length)}`}`,
      model: template.model,
      window: template.window,
      rises,
      until,
      pace: 60_000 + random() * 90_000,
      ended: "done",
    };
  });
}
