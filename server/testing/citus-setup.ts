import type { TestProject } from "vitest/node";
import { type CitusPorts, startCitus } from "./citus.ts";
import { CITUS } from "./find-citus.ts";
import { problemsOf } from "./statement-coverage.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where a Citus cluster listens, in a run of tests on Citus. */
    citus: CitusPorts | undefined;
  }
}

/**
 * Starts a Citus cluster for the run. After the last test, the run fails if Citus refused a statement, or if the server has one that
 * no test ran.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (CITUS === undefined) {
    process.stdout.write(
      "Skipped: Citus is not installed. Build it with scripts/build-citus.sh and set VITEST_PLIMSOLL_CITUS.\n",
    );
    return async () => {};
  }
  const cluster = await startCitus(CITUS);
  project.provide(
    "citus",
    [cluster.coordinator, ...cluster.workers].map(({ port }) => port),
  );
  return async () => {
    const statements = await cluster.statements();
    await cluster.stop();
    // Some of the files alone cannot run every statement.
    const { testFiles } = await project.globTestFiles();
    if (project.vitest.state.getFiles().length < testFiles.length) return;
    const problems = problemsOf(statements);
    if (problems.length === 0) return;
    process.stderr.write(`${problems.join("\n")}\n`);
    // An error of a teardown is reported by vitest, and does not fail the run.
    process.exitCode = 1;
  };
}
