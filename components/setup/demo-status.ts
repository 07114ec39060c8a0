import type { DemoFailure, DemoView } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";

/** The state of a demo run, in one or two sentences. */
export function demoStatusText({ state, examples }: DemoView): string {
  const done = examples.filter((example) => example.state === "finished").length;
  const count = `${done} of ${plural(examples.length, "example")} finished`;
  switch (state) {
    case "idle":
      return "Not run since the server started.";
    case "starting":
      return "Starting.";
    case "running":
      return `Running: ${count}.`;
    case "finished":
      return `All ${plural(examples.length, "example")} finished. Their sessions are recorded.`;
    case "failed":
      return `Failed: ${count}.`;
    case "stopped":
      return `Stopped: ${count}. Events sent before the stop are recorded.`;
  }
}

/** What an example said last, or null if it printed a Markdown table, which is unreadable on one line. */
export function saidText(said: string | null): string | null {
  return said?.startsWith("|") ? null : said;
}

const TERMINAL_HINT = "`npm run demo` in a terminal prints every step.";

/** How to recover from a failed run. Commands are between backticks. */
export function demoAdvice(reason: DemoFailure): string {
  switch (reason) {
    case "not_started":
      return `Run \`npm ci\` in the Plimsoll folder, restart the server and try again. ${TERMINAL_HINT}`;
    case "example_failed":
    case "ended_early":
      return `Start it again. ${TERMINAL_HINT}`;
    case "events_lost":
      return "See Ingestion for the rejected events, then start it again.";
    case "timed_out":
      return `The machine may be overloaded. Start it again later. ${TERMINAL_HINT}`;
  }
}
