import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const given = process.env.VITEST_PLIMSOLL_CITUS;

/**
 * The folder with the programs of a PostgreSQL that has Citus: VITEST_PLIMSOLL_CITUS (`off` for none), or that of `pg_config`. Tests that need
 * Citus are skipped without it; `scripts/build-citus.sh` builds it, and `.ci/run` does where it can.
 */
export const CITUS = given === "off" ? undefined : given || installedCitus();

function installedCitus(): string | undefined {
  try {
    const ask = (what: string) =>
      execFileSync("pg_config", [what], { encoding: "utf8", stdio: "pipe" }).trim();
    const control = join(ask("--sharedir"), "extension", "citus.control");
    return existsSync(control) ? ask("--bindir") : undefined;
  } catch {
    return undefined;
  }
}
