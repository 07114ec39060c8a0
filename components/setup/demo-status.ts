import type { DemoFailure, DemoView } from "@plimsoll/protocol";
import { plural } from "../format.ts";

/** How a run of the demo fleet stands, in a sentence. */
export function demoStatusText({ state, examples }: DemoView): string {
  const done = examples.filter((example) => example.state === "finished").length;
  const count = `${done} of ${plural(examples.length, "example")} finished`;
  switch (state) {
    case "idle":
      return "Not run since the server was started.";
    case "starting":
      return "Starting.";
    case "running":
      return `Running: ${count}.`;
    case "finished":
      return `All ${plural(examples.length, "example")} finished; their sessions are recorded.`;
    case "failed":
      return `Failed: ${count}.`;
    case "stopped":
      return `Stopped: ${count}. What they sent until then is recorded.`;
  }
}

const BY_HAND = "In a terminal, `npm run demo` prints every step.";

/** What to do about a failed run. */
export function demoAdvice(reason: DemoFailure): string {
  switch (reason) {
    case "not_started":
      return `Run \`npm ci\` in Plimsoll's folder, restart the server and try again. ${BY_HAND}`;
    case "example_failed":
    case "ended_early":
      return `Start it again. ${BY_HAND}`;
    case "events_lost":
      return "Look under Ingestion for what was refused, then start it again.";
    case "timed_out":
      return `The machine may be very busy. Start it again when it is not. ${BY_HAND}`;
  }
}
