import { defineConfig } from "vitest/config";
import { CITUS } from "./server/testing/find-citus.ts";
import config from "./vitest.config.ts";

/** Together, they run every statement of the server. */
const FILES = [
  "server/access/{browser,keys}.test.ts",
  "server/alerts/{backtest,evaluator,read-alerts,rule-book}.test.ts",
  "server/alerts/delivery/deliverer.test.ts",
  "server/api-tests/{alerts,deletion,matched-sources,project-isolation,rollouts}.test.ts",
  "server/audit/audit.test.ts",
  "server/backup/backup.test.ts",
  "server/db/write-probe.test.ts",
  "server/doctor/examine.test.ts",
  "server/ingest/{apply-retention,commands,deleted-project,remove-sessions,statements}.test.ts",
  "server/telemetry/{gauges,series}.test.ts",
];

if (CITUS === undefined)
  process.stdout.write(
    "Skipped: Citus is not installed. Build it with scripts/build-citus.sh and set VITEST_PLIMSOLL_CITUS.\n",
  );

/** Runs tests on a Citus cluster: `npm test -- --only citus`. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    globalSetup: ["server/testing/global-setup.ts", "server/testing/citus-setup.ts"],
    include: CITUS === undefined ? [] : FILES,
    passWithNoTests: true,
  },
});
