import { defineConfig } from "vitest/config";
import { CITUS } from "./server/testing/find-citus.ts";
import config from "./vitest.config.ts";

/** Together, they run every statement of the server. */
const FILES = [
  "server/tenants/access/browser.test.ts",
  "server/alerts/{backtest/backtest,evaluation/evaluator,read-alerts,rule-book}.test.ts",
  "server/alerts/conditions/{conditions,rejected-events}.test.ts",
  "server/alerts/delivery/deliverer.test.ts",
  "server/api-tests/{alerts,deletion,machines,mappings,matched-sources,project-isolation,rollouts,session-list}.test.ts",
  "server/tenants/audit/audit.test.ts",
  "server/upkeep/backup/backup.test.ts",
  "server/db/lease.test.ts",
  "server/upkeep/doctor/examine.test.ts",
  "server/http/health.test.ts",
  "server/write/project/{apply-retention,commands,deleted-project,own-sessions,pack-hours,remove-sessions,resumed-refolds,set-window,shared-sessions,statements}.test.ts",
  "server/policies/{read-rejudging,rollouts}.test.ts",
  "server/tenants/projects/{delete-step,projects}.test.ts",
  "server/read/{digest,fleet,gauges,machines,series}.test.ts",
];

/** Runs tests on a Citus cluster: `npm test -- --only citus`. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    projects: undefined,
    maxWorkers: 2,
    globalSetup: ["server/testing/global-setup.ts", "server/testing/citus-setup.ts"],
    // Without Citus, these say that they are skipped.
    include: CITUS === undefined ? ["server/api-tests/citus.test.ts"] : FILES,
  },
});
