import { readFileSync } from "node:fs";
import { type ReportTarget, sendReport } from "../background-report.ts";
import { type ConnectionRecord, readRecord } from "../connect/record.ts";
import { connect } from "../connection.ts";
import type { Env } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { type RepositoryMode, reportedPlace } from "../origin/repository.ts";
import type { HookArguments } from "./hook-arguments.ts";
import type { HookEvent } from "./hook-events.ts";

/** Times between attempts, ms. Only a hook reports the cause of a fall, so it survives a restart of the server. */
const WAITS_MS = [1_000, 5_000, 30_000];

/** Where and as whom a hook reports. */
interface HookTarget extends ReportTarget {
  harness: string;
  machine: string;
  /** Unless the environment says otherwise. */
  repository: RepositoryMode;
}

/** Sends the events of a hook. @returns whether the server has them */
export async function reportHook(
  events: readonly HookEvent[],
  asked: HookArguments,
  env: Env,
  { folder, waits = WAITS_MS }: { folder?: string | undefined; waits?: readonly number[] } = {},
): Promise<boolean> {
  const target =
    asked.connection === undefined ? await givenTarget(asked, env) : await connectedTarget(asked.connection);
  if (target === undefined || events.length === 0) return false;
  const { url, key, harness, machine, repository } = target;
  const place = reportedPlace(folder, env, repository);
  return sendReport(
    { url, key },
    events.map((event) => ({ ...event, harness: asked.harness ?? harness, machine, ...place })),
    waits,
  );
}

/** Of a hook that a person wrote: the server and the key are in variables, as for any command. */
async function givenTarget({ family }: HookArguments, env: Env): Promise<HookTarget | undefined> {
  const { url, token } = await connect({}, env).catch(() => ({ url: "", token: undefined }));
  if (token === undefined) return undefined;
  const machine = machineOf(env);
  return { url, key: token, harness: `${family}@${machine}`, machine, repository: "off" };
}

/** Of a hook that `plimsoll connect` wrote: the key is in the settings that it wrote too. */
export async function connectedTarget(folder: string): Promise<HookTarget | undefined> {
  const record = await readRecord(folder);
  if (record === undefined) return undefined;
  const texts = record.files.map(({ path }) => textOf(path));
  const key = texts.map((text) => /plim_\w+/.exec(text)?.[0]).find((found) => found !== undefined);
  if (key === undefined) return undefined;
  return { url: record.url, key, ...namesOf(record, texts), repository: record.repository ?? "off" };
}

/** The instance and the machine that the telemetry of the harness has, so that both report the same sessions. */
function namesOf(
  { family, host }: ConnectionRecord,
  texts: readonly string[],
): Pick<HookTarget, "harness" | "machine"> {
  const attribute = (name: string) => {
    const pattern = new RegExp(`[",=]${name.replace(".", "\\.")}=([^",]+)`);
    const found = texts.map((text) => pattern.exec(text)?.[1]).find((value) => value !== undefined);
    return found && decoded(found);
  };
  const machine = attribute("host.name") ?? host;
  return { harness: attribute("plimsoll.harness") ?? `${family}@${machine}`, machine };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
