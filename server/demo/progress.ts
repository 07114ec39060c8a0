import {
  DEMO_EXAMPLES,
  DemoExampleName,
  type DemoExampleState,
  type DemoExampleView,
  type DemoView,
} from "@plimsoll/protocol/api";
import { z } from "zod";

/** What the demo's process tells about its examples, one message at a time (see examples/progress.ts). */
export const DemoMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("running"), example: DemoExampleName }),
  z.object({
    type: z.literal("session"),
    example: DemoExampleName,
    harness: z.string(),
    session: z.string(),
    title: z.string().nullable(),
  }),
  z.object({ type: z.literal("said"), example: DemoExampleName, text: z.string() }),
  z.object({
    type: z.literal("finished"),
    example: DemoExampleName,
    sent: z.number().int(),
    /** Events refused, dropped or still waiting at the end. */
    lost: z.number().int(),
  }),
  z.object({ type: z.literal("failed"), example: DemoExampleName, message: z.string() }),
]);
export type DemoMessage = z.infer<typeof DemoMessage>;

/** The id under which the server keeps what a harness calls a session. */
type SessionIds = (harness: string, session: string) => string;

/** All that happens to a run. `at` is epoch ms. */
export type DemoStep =
  | { type: "message"; message: DemoMessage; sessionId: SessionIds }
  | { type: "not_started"; message: string; at: number }
  | { type: "stop_asked"; at: number }
  | { type: "timed_out"; at: number }
  | { type: "exited"; code: number | null; lastWords: string; at: number };

export const IDLE: DemoView = {
  state: "idle",
  started_at: null,
  ended_at: null,
  failure: null,
  examples: [],
};

export function newRun(at: number): DemoView {
  return {
    ...IDLE,
    state: "starting",
    started_at: new Date(at).toISOString(),
    examples: DEMO_EXAMPLES.map((name) => ({
      name,
      state: "waiting",
      said: null,
      events: null,
      sessions: [],
    })),
  };
}

/** Whether a run is under way: no other may begin. */
export function isUnderWay({ state }: DemoView): boolean {
  return state === "starting" || state === "running";
}

/** A run after one more step. What comes after its end changes nothing. */
export function nextDemo(run: DemoView, step: DemoStep): DemoView {
  if (!isUnderWay(run)) return run;
  switch (step.type) {
    case "message":
      return heard(run, step.message, step.sessionId);
    case "not_started":
      return failed(run, step.at, "not_started", step.message, "stopped");
    case "stop_asked":
      return ended(run, step.at, "stopped", "stopped");
    case "timed_out":
      return failed(run, step.at, "timed_out", "It took too long and was ended.", "failed");
    case "exited":
      return exited(run, step);
  }
}

function heard(run: DemoView, message: DemoMessage, idOf: SessionIds): DemoView {
  const examples = run.examples.map((example) =>
    example.name === message.example ? exampleAfter(example, message, idOf) : example,
  );
  return { ...run, state: "running", examples };
}

function exampleAfter(example: DemoExampleView, message: DemoMessage, idOf: SessionIds): DemoExampleView {
  switch (message.type) {
    case "running":
      return { ...example, state: "running" };
    case "said":
      return { ...example, said: message.text };
    case "failed":
      return { ...example, state: "failed", said: message.message };
    case "finished": {
      const { sent, lost } = message;
      if (lost === 0) return { ...example, state: "finished", events: sent };
      return { ...example, state: "failed", events: sent, said: `${lost} events did not arrive` };
    }
    case "session": {
      const id = idOf(message.harness, message.session);
      const known = example.sessions.find((one) => one.id === id);
      const session = { id, session: message.session, title: message.title ?? known?.title ?? null };
      const sessions =
        known === undefined
          ? [...example.sessions, session]
          : example.sessions.map((one) => (one.id === id ? session : one));
      return { ...example, sessions };
    }
  }
}

function exited(run: DemoView, { code, lastWords, at }: Extract<DemoStep, { type: "exited" }>): DemoView {
  const open = run.examples.some(({ state }) => state === "waiting" || state === "running");
  if (open) {
    const words = lastWords === "" ? `Its process ended with code ${code ?? "none"}.` : lastWords;
    const reason = run.state === "starting" ? "not_started" : "ended_early";
    return failed(run, at, reason, words, "failed");
  }
  const wrong = run.examples.filter(({ state }) => state === "failed");
  if (wrong.length === 0) return ended(run, at, "finished", "stopped");
  const reason = wrong.some(({ events }) => events === null) ? "example_failed" : "events_lost";
  const words = wrong.map(({ name, said }) => `${name}: ${said ?? "gave no reason"}`).join("; ");
  return failed(run, at, reason, words, "failed");
}

function failed(
  run: DemoView,
  at: number,
  reason: NonNullable<DemoView["failure"]>["reason"],
  message: string,
  open: DemoExampleState,
): DemoView {
  return { ...ended(run, at, "failed", open), failure: { reason, message } };
}

/** Examples still open at the end become `open`. */
function ended(run: DemoView, at: number, state: DemoView["state"], open: DemoExampleState): DemoView {
  return {
    ...run,
    state,
    ended_at: new Date(at).toISOString(),
    examples: run.examples.map((example) =>
      example.state === "waiting" || example.state === "running" ? { ...example, state: open } : example,
    ),
  };
}
