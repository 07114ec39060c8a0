import { parseArgs } from "node:util";
import { autopilot } from "./autopilot/main.ts";
import { runExample } from "./example-support.ts";
import { runLargeFleet } from "./large-fleet/main.ts";
import { ouroboros } from "./ouroboros/main.ts";
import { phantomOpenAi } from "./phantom/openai.ts";
import { exitWithParent } from "./progress.ts";
import { watcher } from "./watcher/main.ts";

const HELP = `Usage: npm run demo -- [options]

Runs the four example harnesses against the running server, or with --large a fleet that fills every page.

  --large          30 live agents and 300 sessions of the last seven days
  --agents <n>     live agents of the large fleet, default 30
  --sessions <n>   ended sessions of the large fleet, default 300
  --minutes <n>    how long the agents of the large fleet work, default 10
  --help           print this text
`;

/** Runs the four examples at once as the demo fleet, each as its own harness. */
async function runExamples(): Promise<void> {
  const results = await Promise.allSettled([
    runExample("phantom", phantomOpenAi),
    runExample("ouroboros", ouroboros),
    runExample("autopilot", autopilot),
    runExample("watcher", watcher),
  ]);
  for (const result of results) {
    if (result.status === "rejected") {
      console.error(result.reason);
      process.exitCode = 1;
    }
  }
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
        minutes: { type: "string", default: "10" },
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
    minutes: wholeNumber("minutes", options.minutes, 0),
  });
} else await runExamples();
