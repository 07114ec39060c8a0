import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createServer } from "node:net";
import { basename, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { PlimsollError } from "../../errors.ts";
import type { Address } from "../presence.ts";
import { throwIfStopped } from "../stopped.ts";
import { type Binaries, cannotRun } from "./binaries.ts";
import { allowLogin, damaged } from "./cluster-files.ts";
import { postgresEnvironment } from "./initdb.ts";
import { diskFull, type HomeLayout, listensOnSocket, type RunAs, SOCKET_PORT } from "./layout.ts";
import { readPostmasterPid } from "./postmaster-pid.ts";
import { identifyPostmaster } from "./process-identity.ts";
import { logSize, openServerLog, readLogSince } from "./server-log.ts";

/** Chooses a socket where the system has them and the path is short enough, otherwise a free loopback port. */
export async function chooseAddress(layout: HomeLayout): Promise<Address> {
  if (listensOnSocket(layout)) return { host: layout.socket, port: SOCKET_PORT };
  return { host: "127.0.0.1", port: await freePort() };
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** The settings that differ from PostgreSQL's defaults, or must not depend on them. */
export function postmasterSettings(address: Address): Record<string, string> {
  const onSocket = address.host.startsWith("/");
  return {
    listen_addresses: onSocket ? "" : address.host,
    unix_socket_directories: onSocket ? address.host : "",
    unix_socket_permissions: "0700",
    port: String(address.port),
    ssl: "off",
    password_encryption: "scram-sha-256",
    // Acknowledged events must survive a crash.
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    // systemd removes the POSIX shared memory of a user who logs out, also under a running server.
    dynamic_shared_memory_type: "mmap",
    shared_buffers: "128MB",
    // About 20 for each Plimsoll process.
    max_connections: "100",
    work_mem: "16MB",
    maintenance_work_mem: "128MB",
    effective_cache_size: "1GB",
    wal_compression: "on",
    max_wal_size: "1GB",
    checkpoint_timeout: "15min",
    random_page_cost: "1.1",
    // Compiling takes longer than these short queries run.
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_destination: "stderr",
    logging_collector: "off",
    log_line_prefix: "%m [%p] ",
    log_checkpoints: "off",
    // A statement or the detail of an error can contain the text of an agent.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    idle_in_transaction_session_timeout: "60s",
  };
}

export interface Started {
  child: ChildProcess;
  pid: number;
}

/**
 * Starts a postmaster in a session of its own, so that Ctrl-C in the terminal does not reach it, and waits
 * until it accepts connections. The wait includes crash recovery.
 * @returns `raced` when another postmaster already serves the folder, or its last processes are still ending
 * @throws PlimsollError `port_in_use`, `disk_full`, `data_folder_unwritable`, `data_folder_damaged`,
 * `postgres_binaries_missing`, `internal`; `stopped` when the signal is given, after stopping the postmaster
 */
export async function startPostmaster(
  layout: HomeLayout,
  binaries: Binaries,
  address: Address,
  { runAs, signal }: { runAs: RunAs | undefined; signal: AbortSignal },
): Promise<Started | "raced"> {
  throwIfStopped(signal);
  const offset = await logSize(layout.log);
  const log = openServerLog(layout.log);
  let child: ChildProcess;
  let failure: unknown;
  let exited = false;
  try {
    const settings = Object.entries(postmasterSettings(address)).flatMap(([k, v]) => ["-c", `${k}=${v}`]);
    child = spawn(binaries.postgres, ["-D", layout.data, ...settings], {
      cwd: layout.cluster,
      env: postgresEnvironment(),
      ...runAs,
      detached: true,
      windowsHide: true,
      stdio: ["ignore", log, log],
    });
    child.once("error", (error) => {
      failure = error;
    });
    child.once("exit", () => {
      exited = true;
    });
    child.unref();
  } finally {
    closeSync(log);
  }
  // No limit: recovery after a crash may take minutes, and a postmaster that cannot start exits.
  while (!exited && failure === undefined) {
    if (signal.aborted && child.pid !== undefined) {
      await stopPostmaster(child.pid, layout, binaries);
      throwIfStopped(signal);
    }
    const file = await readPostmasterPid(layout.data);
    if (file?.pid === child.pid && file?.status === "ready") return { child, pid: file!.pid };
    await sleep(10);
  }
  if (failure !== undefined) throw cannotRun(binaries.postgres, failure);
  return explainExit(layout, await readLogSince(layout.log, offset));
}

/** How PostgreSQL names a file of its data folder that it cannot use. */
const NAMED_FILE =
  /(?:could not (?:open|read|access|stat|locate|load)[^"\n]*|required WAL directory |subdirectory |configuration file )"([^"\n]+)"/i;

/** Messages about contents of the data folder that name no file. */
const DAMAGED_DATA =
  /(?:FATAL|PANIC): +(could not access status of transaction.*|could not locate .*checkpoint record.*|invalid .*checkpoint.*|.*incorrect checksum.*|.*page verification failed.*)/i;

/** The file in what PostgreSQL said, if it names one. */
export const namedFile = (data: string, said: string): string | undefined => {
  const name = NAMED_FILE.exec(said)?.[1];
  return name === undefined ? undefined : resolve(data, name);
};

function explainExit(layout: HomeLayout, said: string): "raced" {
  if (/lock file ".*" already exists|pre-existing shared memory block/i.test(said)) return "raced";
  if (/no space left on device|disk quota/i.test(said)) throw diskFull(layout.data);
  const details = { log: said.slice(-2000) };
  if (/address already in use/i.test(said)) {
    throw new PlimsollError("port_in_use", "The port chosen for the embedded PostgreSQL is in use.", {
      details,
    });
  }
  const hint = `Its log, ${layout.log}, ends with:\n${details.log}`;
  if (/permission denied|wrong ownership|invalid permissions/i.test(said)) {
    throw new PlimsollError("data_folder_unwritable", `PostgreSQL cannot use ${layout.data}.`, {
      details,
      hint,
    });
  }
  const restore = `Restore the data folder from a backup. ${hint}`;
  const file = namedFile(layout.data, said);
  if (file !== undefined) {
    const remedy = basename(file) === "pg_hba.conf" ? allowLogin(layout) : restore;
    throw damaged(file, "is missing or damaged", remedy);
  }
  const damage = DAMAGED_DATA.exec(said)?.[1];
  if (damage !== undefined)
    throw damaged(layout.data, `is damaged. PostgreSQL says: ${damage.trim()}`, restore);
  throw new PlimsollError("internal", "The embedded PostgreSQL did not start.", { details, hint });
}

/** Milliseconds a fast shutdown may take (it writes a checkpoint) before it is stopped without one. */
const FAST_STOP_LIMIT = 60_000;

/**
 * Stops a postmaster. It rolls back open transactions and writes a checkpoint. After a minute, another signal
 * makes it quit at once, which loses nothing and costs a recovery at the next start. Signals are sent only to a process
 * that is our postmaster at that moment.
 * @returns false when it cannot be identified, or is still running after that
 */
export async function stopPostmaster(pid: number, layout: HomeLayout, binaries: Binaries): Promise<boolean> {
  const identify = () => identifyPostmaster(pid, layout.data);
  for (const [signal, mode, limit] of [
    ["SIGINT", "fast", FAST_STOP_LIMIT],
    ["SIGQUIT", "immediate", 10_000],
  ] as const) {
    const identity = await identify();
    if (identity === "gone" || identity === "other") return true;
    if (identity === "unknown") return false;
    await send(pid, signal, mode, layout, binaries);
    const deadline = Date.now() + limit;
    for (let pause = 5; Date.now() < deadline; pause = Math.min(pause * 2, 200)) {
      const now = await identify();
      if (now === "gone" || now === "other") return true;
      await sleep(pause);
    }
  }
  return false;
}

async function send(
  pid: number,
  signal: "SIGINT" | "SIGQUIT",
  mode: string,
  layout: HomeLayout,
  { pgCtl }: Binaries,
) {
  if (process.platform !== "win32") {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
    return;
  }
  // There are no signals on Windows; pg_ctl talks to the server through a pipe.
  await promisify(execFile)(pgCtl, ["stop", "-D", layout.data, "-m", mode, "--no-wait"]).catch(() => {});
}
