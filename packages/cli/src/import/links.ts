import { SessionPage } from "@plimsoll/protocol/api";
import { familyOf } from "@plimsoll/protocol/policy";
import type { Client } from "../client.ts";
import { CliError } from "../errors.ts";

/** A session that a recording holds. Epoch ms. */
export interface ImportedSession {
  harness: string;
  session: string;
  firstAt: number;
  lastAt: number;
}

/** Sessions that get a link of their own. */
export const LINKED_SESSIONS = 5;
const MINUTE_MS = 60_000;

/**
 * Links to what was imported: the latest sessions, then the list of all of them.
 * @param url base URL of the server
 * @param project as given with --project
 */
export async function importLinks(
  client: Pick<Client, "query">,
  sessions: readonly ImportedSession[],
  { url, project }: { url: string; project?: string | undefined },
): Promise<string[]> {
  if (sessions.length === 0) return [];
  const latest = [...sessions].sort((a, b) => b.lastAt - a.lastAt).slice(0, LINKED_SESSIONS);
  const ids = await idsOf(client, latest);
  return [
    ...ids.map((id) => pageUrl(url, `/sessions/${id}`, { project })),
    pageUrl(url, "/sessions", { range: rangeOf(sessions), harness: onlyHarness(sessions), project }),
  ];
}

/** The ids the server gave the sessions. Empty if the key may not read. */
async function idsOf(client: Pick<Client, "query">, sessions: readonly ImportedSession[]): Promise<string[]> {
  const ids: string[] = [];
  try {
    for (const { harness, session, firstAt, lastAt } of sessions) {
      // A session that another machine reports too may be stored under its harness instance.
      const input = { from: iso(firstAt), to: iso(lastAt + MINUTE_MS), q: session, limit: 50 };
      const { items } = await client.query("sessions.list", input, SessionPage);
      const same = items.filter(
        (item) => item.session === session && familyOf(item.harness) === familyOf(harness),
      );
      const found = same.find((item) => item.harness === harness) ?? same[0];
      if (found !== undefined) ids.push(found.id);
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
  }
  return ids;
}

/** As the pages write a range into their URL: whole minutes around all events. */
function rangeOf(sessions: readonly ImportedSession[]): string {
  const from = sessions.reduce((first, { firstAt }) => Math.min(first, firstAt), Number.POSITIVE_INFINITY);
  const to = sessions.reduce((last, { lastAt }) => Math.max(last, lastAt), Number.NEGATIVE_INFINITY);
  return `${iso(Math.floor(from / MINUTE_MS) * MINUTE_MS)}..${iso((Math.floor(to / MINUTE_MS) + 1) * MINUTE_MS)}`;
}

function onlyHarness(sessions: readonly ImportedSession[]): string | undefined {
  const harnesses = new Set(sessions.map(({ harness }) => harness));
  return harnesses.size === 1 ? [...harnesses][0] : undefined;
}

function pageUrl(url: string, path: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  const query = new URLSearchParams(given).toString();
  return `${url}${path}${query === "" ? "" : `?${query}`}`;
}

const iso = (at: number): string => new Date(at).toISOString();
