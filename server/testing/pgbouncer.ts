import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { databaseUser } from "../db/postgres/database-user.ts";
import { freePort, type RunningProxy, whenListening } from "./nginx.ts";

const PGBOUNCER = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find(
  existsSync,
);

/** Tests that need PgBouncer are skipped without it. `.ci/run` installs it where it can. */
export const hasPgbouncer = PGBOUNCER !== undefined;

/**
 * Runs PgBouncer in front of a database.
 * @param databaseUrl of a test's database
 * @param settings of `[pgbouncer]`, such as `pool_mode`
 */
export async function startPgbouncer(
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<RunningProxy & { url: string }> {
  const { username, password, hostname, port, pathname, searchParams } = new URL(databaseUrl);
  const host = searchParams.get("host") ?? hostname;
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-pgbouncer-"));
  const own = await freePort();
  const lines = Object.entries({
    listen_addr: "127.0.0.1",
    listen_port: String(own),
    unix_socket_dir: "",
    auth_type: "any",
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  const config = join(folder, "pgbouncer.ini");
  await writeFile(
    config,
    `[databases]
test = host=${host} port=${port || 5432} dbname=${pathname.slice(1)} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
${lines.join("\n")}
`,
  );
  for (const path of [folder, config]) await chmod(path, 0o755);
  // It refuses to run as root, and only the user of the embedded PostgreSQL can reach its socket.
  const user = await databaseUser(pino({ level: "silent" }));
  const child = spawn(PGBOUNCER ?? "pgbouncer", [config], { ...user, stdio: ["ignore", "ignore", "pipe"] });
  const running = await whenListening(child, [own], () => rm(folder, { recursive: true, force: true }));
  return { ...running, url: `postgresql://any@127.0.0.1:${own}/test` };
}
