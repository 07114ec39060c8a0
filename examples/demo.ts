import { parseArgs } from "node:util";
import { autopilot } from "./autopilot/main.ts";
import { runExample } from "./example-support.ts";
import { runLargeFleet } from "./large-fleet/main.ts";
import { ouroboros } from "./ouroboros/main.ts";
import { phantomOpenAi } from "./phantom/openai.ts";
import { exitWithParent } from "./progress.ts";
import { watcher } from "./watcher/main.ts";
import { workers } from "./workers/main.ts";

const HELP = `Usage: npm run demo -- [options]

Runs the five example harnesses against the running server, or with --large a fleet that fills every page.

  --large          30 live agents and 300 sessions of the last seven days
  --agents <n>     live agents of the large fleet, default 30
  --sessions <n>   ended sessions of the large fleet, default 300
  --minutes <n>    how long the agents work, default 5, or 10 with --large
  --help           print this text
`;

const MINUTES = 5;
const LARGE_MINUTES = 10;
/** Delay of each scripted answer for a minute of the demo, in ms: the longest example then takes most of the time. */
const PACE_MS_PER_MINUTE = 350;

/** Runs the five examples at once as the demo fleet, each as its own harness. */
async function runExamples(minutes: number): Promise<void> {
  const paceMs = minutes * PACE_MS_PER_MINUTE;
  const results = await Promise.allSettled([
    runExample("phantom", phantomOpenAi, paceMs),
    runExample("ouroboros", ouroboros, paceMs),
    runExample("autopilot", autopilot, paceMs),
    runExample("watcher", watcher, paceMs),
    runExample("workers", (context) => workers(context, minutes * 60_000), paceMs),
  ]);
  for (const result of results) {
    if (result.status === "rejected") {
      console.error(result.reason);
      process.exitCode = 1;
    }
  }
}

/** A number above 0. Ends the process with the reason if it is not one. */
function positiveNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`${name} must be a number above 0, not ${text}.`);
  process.exit(2);
}

/** A whole number of at least `least`. Ends the process with the reason if it is not one. */
function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  console.error(`--${name} must be a whole number of at least ${least}, not ${text}.`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        large: { type: "boolean", default: false },
        agents: { type: "string", default: "30" },
        sessions: { type: "string", default: "300" },
        minutes: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`);
    process.exit(2);
  }
}

exitWithParent();
const options = readOptions();
if (options.help) console.log(HELP);
else if (options.large) {
  await runLargeFleet({
    agents: wholeNumber("agents", options.agents, 1),
    sessions: wholeNumber("sessions", options.sessions, 0),
    minutes: wholeNumber("minutes", options.minutes ?? String(LARGE_MINUTES), 0),
  });
} else if (options.minutes !== undefined) await runExamples(positiveNumber("--minutes", options.minutes));
else
  await runExamples(
    positiveNumber("PLIMSOLL_DEMO_MINUTES", process.env.PLIMSOLL_DEMO_MINUTES ?? String(MINUTES)),
  );
