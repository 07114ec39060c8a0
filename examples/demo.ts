import { autopilot } from "./autopilot/main.ts";
import { runExample } from "./kit.ts";
import { ouroboros } from "./ouroboros/main.ts";
import { phantom } from "./phantom/main.ts";
import { endWithStarter } from "./progress.ts";
import { watcher } from "./watcher/main.ts";

/** The demo fleet: all four at once, each a harness of its own. */
endWithStarter();
const results = await Promise.allSettled([
  runExample("phantom", phantom),
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
