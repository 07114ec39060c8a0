import { autopilot } from "./autopilot/main.ts";
import { runExample } from "./example-support.ts";
import { ouroboros } from "./ouroboros/main.ts";
import { phantomOpenAi } from "./phantom/openai.ts";
import { exitWithParent } from "./progress.ts";
import { watcher } from "./watcher/main.ts";

/** Runs the four examples at once as the demo fleet, each as its own harness. */
exitWithParent();
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
