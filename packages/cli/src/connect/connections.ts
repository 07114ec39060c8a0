import { existsSync } from "node:fs";
import type { Places } from "@plimsoll/harnesses/bridge";
import { CONNECTABLE_HARNESSES } from "@plimsoll/harnesses/connect";
import { pathText } from "@plimsoll/harnesses/fields";
import { KeyView, keyState, UnmappedTelemetryList } from "@plimsoll/protocol/api";
import { z } from "zod";
import type { Client } from "../client.ts";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { ago } from "../number-format.ts";
import { type TableRow, writeTable } from "../table.ts";
import { printable, printableJson } from "../terminal.ts";
import type { KnownConnection } from "./disconnect-harness.ts";
import { isInstanceOf, lastEvents } from "./first-event.ts";
import { adapterOf } from "./harness-paths.ts";
import { installation } from "./installed.ts";
import { clientOf } from "./key.ts";
import { readNamed } from "./plan.ts";
import { type ConnectionRecord, projectFolder } from "./record.ts";

export interface ConnectionHealth {
  harness: string;
  scope: ConnectionRecord["scope"];
  /** The project's; null for settings of the person. */
  folder: string | null;
  url: string;
  version: string | null;
  /** RFC 3339; null if nothing arrived, or this key may not read it. */
  last_event_at: string | null;
  /** Empty if nothing is missing. */
  missing: readonly string[];
}

const Keys = z.object({ keys: z.array(KeyView) });

const UNMAPPED_TEXT = {
  unknown_dialect: "sends data that Plimsoll cannot read",
  metric: "sends metrics, which Plimsoll does not store",
  no_usage: "sends calls without token counts",
  no_session: "sends calls without a session",
  no_agent: "sends calls of sub-agents without their ids",
  no_time: "sends calls without a time",
};

/** The health of every connection. Asks each server once. */
export async function healthOf(
  connections: readonly KnownConnection[],
  home: string,
  places: Places,
  context: CommandContext,
): Promise<ConnectionHealth[]> {
  const facts = new Map<string, Promise<ServerFacts>>();
  return Promise.all(
    connections.map(async ({ record }) => {
      const server = `${record.url} ${record.project ?? ""}`;
      if (!facts.has(server)) facts.set(server, serverFacts(record, context));
      return health(record, await facts.get(server)!, home, places, context.now());
    }),
  );
}

interface ServerFacts {
  trouble: string | undefined;
  harnesses: Awaited<ReturnType<typeof lastEvents>>;
  keys: readonly KeyView[] | undefined;
  unmapped: UnmappedTelemetryList["sources"];
}

async function serverFacts(record: ConnectionRecord, context: CommandContext): Promise<ServerFacts> {
  const { url } = record;
  const nothing: ServerFacts = { trouble: undefined, harnesses: undefined, keys: undefined, unmapped: [] };
  try {
    const client = await clientOf(record, context);
    const harnesses = await lastEvents(client);
    if (harnesses === undefined) return { ...nothing, trouble: `no key that may read at ${url}` };
    const [keys, unmapped] = await Promise.all([keysOf(client), unmappedOf(client)]);
    return { trouble: undefined, harnesses, keys, unmapped };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { ...nothing, trouble: error.message };
  }
}

/** Only an administrator sees keys. */
const keysOf = (client: Client) =>
  client.query("keys.list", undefined, Keys).then(
    ({ keys }) => keys,
    () => undefined,
  );
const unmappedOf = (client: Client) =>
  client.query("ingest.unmapped", {}, UnmappedTelemetryList).then(
    ({ sources }) => sources,
    () => [],
  );

async function health(
  record: ConnectionRecord,
  facts: ServerFacts,
  home: string,
  places: Places,
  now: number,
): Promise<ConnectionHealth> {
  const harness = CONNECTABLE_HARNESSES.find(({ family }) => family === record.family)!;
  const installed = await installation(adapterOf(harness), places);
  const reporting = facts.harnesses?.find(({ instance }) =>
    isInstanceOf(instance, record.family, record.host),
  );
  const missing = [
    ...(installed === undefined ? [`${harness.name} is not installed`] : []),
    ...(await missingSettings(record, home)),
    ...(record.program ?? [])
      .filter((path) => !existsSync(path))
      .map((path) => `its hooks start ${path}, which is gone; run connect again`),
    ...keyTrouble(record, facts, now),
    ...(facts.trouble === undefined ? [] : [facts.trouble]),
    ...(facts.trouble === undefined && reporting === undefined
      ? ["no event yet; start it again and send a prompt"]
      : []),
    ...facts.unmapped
      .filter(
        ({ dialect, reason, last_at }) =>
          dialect === record.family && reason !== "metric" && Date.parse(last_at) > record.at,
      )
      .map(({ reason }) => UNMAPPED_TEXT[reason]),
  ];
  return {
    harness: record.family,
    scope: record.scope,
    folder: projectFolder(record) ?? null,
    url: record.url,
    version: reporting?.version ?? installed?.version ?? null,
    last_event_at: reporting?.last_at ?? null,
    missing: [...new Set(missing)],
  };
}

async function missingSettings({ family, files }: ConnectionRecord, home: string): Promise<string[]> {
  const harness = CONNECTABLE_HARNESSES.find((one) => one.family === family)!;
  const formats = harness.files({ url: "", key: "", host: "" });
  const missing: string[] = [];
  for (const { id, path } of files) {
    const { format } = formats.find((file) => file.id === id)!;
    try {
      const { drifted, journal } = await readNamed({ family, format }, path, home);
      if (journal === undefined) missing.push(`the record of ${path} is gone`);
      for (const key of drifted)
        missing.push(`${pathText(key)} in ${path} was ${key.found === undefined ? "removed" : "changed"}`);
    } catch (error) {
      missing.push((error as Error).message.replace(/\.$/, ""));
    }
  }
  return missing;
}

function keyTrouble({ key }: ConnectionRecord, { keys }: ServerFacts, now: number): string[] {
  if (key === null || keys === undefined) return [];
  const found = keys.find(({ id }) => id === key.id);
  const state = found === undefined ? "revoked" : keyState(found, now);
  return state === "revoked" || state === "expired"
    ? [`its key ${key.prefix} is ${state}; run connect again`]
    : [];
}

export function writeHealth(
  { out, now }: CommandContext,
  connections: readonly ConnectionHealth[],
  json: boolean,
): void {
  if (json) {
    out.write(`${printableJson({ connections })}\n`);
    return;
  }
  if (connections.length === 0) {
    out.write("No harness is connected. Connect one with: npx plimsoll connect\n");
    return;
  }
  const rows = connections.map(
    ({ harness, scope, folder, version, url, last_event_at, missing }): TableRow => ({
      cells: [
        harness,
        folder === null ? scope : `${scope} ${folder}`,
        version ?? "-",
        last_event_at === null ? "-" : ago(now() - Date.parse(last_event_at)),
        missing.length === 0 ? "ok" : `${missing.length} missing`,
        url,
      ],
      warn: missing.length > 0,
    }),
  );
  writeTable(out, ["HARNESS", "SETTINGS", "VERSION", "LAST EVENT", "STATE", "SERVER"], rows);
  for (const { harness, missing } of connections)
    for (const text of missing) out.write(`${printable(`${harness}: ${text}`)}\n`);
}
