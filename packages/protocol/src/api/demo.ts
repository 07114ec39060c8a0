import { z } from "zod";

/** The demo fleet: the example harnesses, run by the server against a scripted model and reporting to it. */
export const DEMO_EXAMPLES = ["phantom", "ouroboros", "autopilot", "watcher", "workers"] as const;
export const DemoExampleName = z.enum(DEMO_EXAMPLES);
export type DemoExampleName = z.infer<typeof DemoExampleName>;

export const DEMO_STATES = ["idle", "starting", "running", "finished", "failed", "stopped"] as const;
export const DemoState = z.enum(DEMO_STATES);
export type DemoState = z.infer<typeof DemoState>;

export const DEMO_EXAMPLE_STATES = ["waiting", "running", "finished", "failed", "stopped"] as const;
export const DemoExampleState = z.enum(DEMO_EXAMPLE_STATES);
export type DemoExampleState = z.infer<typeof DemoExampleState>;

export const DEMO_FAILURES = [
  /** Its process could not be started, or found nothing to run. */
  "not_started",
  /** An example gave up; the others may have finished. */
  "example_failed",
  /** All ran to their end, and some of their events were refused or lost on the way here. */
  "events_lost",
  /** The process died with examples still at work. */
  "ended_early",
  "timed_out",
] as const;
export const DemoFailure = z.enum(DEMO_FAILURES);
export type DemoFailure = z.infer<typeof DemoFailure>;

const time = z.iso.datetime({ offset: true });

export const DemoExampleView = z.object({
  name: DemoExampleName,
  state: DemoExampleState,
  /** What it said last, or why it failed. */
  said: z.string().nullable(),
  /** Events the server took; known at its end. */
  events: z.number().int().nullable(),
  sessions: z.array(z.object({ id: z.string(), session: z.string(), title: z.string().nullable() })),
});
export type DemoExampleView = z.infer<typeof DemoExampleView>;

/** How long the demo fleet runs unless it is told otherwise, in minutes. */
export const DEMO_MINUTES = 5;

export const StartDemoInput = z.object({
  /** How long it runs, in minutes. */
  minutes: z.number().min(0.1).max(60).default(DEMO_MINUTES),
});
export type StartDemoInput = z.infer<typeof StartDemoInput>;

/** The latest run in this process; `idle` when there was none. */
export const DemoView = z.object({
  state: DemoState,
  started_at: time.nullable(),
  ended_at: time.nullable(),
  failure: z.object({ reason: DemoFailure, message: z.string() }).nullable(),
  examples: z.array(DemoExampleView),
});
export type DemoView = z.infer<typeof DemoView>;
