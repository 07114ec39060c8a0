import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEvent } from "@plimsoll/protocol/events";
import { type FakeServer, json, startFakeServer } from "./fake-server.ts";

export interface Stored {
  type: string;
  status?: string;
  reason?: string;
  session: string;
  harness: string;
  [field: string]: unknown;
}

type Failure = (response: Parameters<typeof json>[0]) => void;

/** A folder for recordings, and a fake server that stores what is imported from it. */
export interface ImportTarget {
  folder: string;
  server: FakeServer;
  /** Events stored by the fake server, keyed by session, agent and id. */
  stored: Map<string, Stored>;
  /** How the server answers its next requests instead of storing their events. */
  failures: Failure[];
  connection(): { url: string; token: string; tokenSource: "--key" };
  /** Writes a recording, one JSON value per line. Returns its path. */
  write(name: string, ...content: unknown[]): Promise<string>;
  close(): Promise<void>;
}

export async function startImportTarget(): Promise<ImportTarget> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-cli-"));
  const stored = new Map<string, Stored>();
  const server = await startFakeServer({
    routes: {
      "/api/v1/events": (request, response) => {
        const failure = target.failures.shift();
        if (failure !== undefined) {
          failure(response);
          return;
        }
        const answer = { accepted: 0, duplicates: 0, rejected: [] as unknown[] };
        const lines = request.body.split("\n").map((line) => JSON.parse(line) as { id: string });
        lines.forEach((value, index) => {
          const parsed = parseEvent(value);
          if (!parsed.ok) {
            answer.rejected.push({ index, id: value.id, ...parsed.rejection });
            return;
          }
          const { session, agent, id } = parsed.event;
          const key = JSON.stringify([session, agent, id]);
          answer[stored.has(key) ? "duplicates" : "accepted"] += 1;
          stored.set(key, parsed.event as unknown as Stored);
        });
        json(response, 200, answer);
      },
    },
  });
  const target: ImportTarget = {
    folder,
    server,
    stored,
    failures: [],
    connection: () => ({ url: server.url, token: "k", tokenSource: "--key" }),
    async write(name, ...content) {
      const path = join(folder, name);
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, content.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      return path;
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return target;
}

export const IMPORT_OPTIONS = { titles: true, harness: "test@host" };

/** The session of the recorded lines. */
export const SESSION = "11111111-1111-4111-8111-111111111111";
/** One turn as Claude Code records it, `input` tokens large. */
export const turnLine = (second: number, input: number, session = SESSION) => ({
  type: "assistant",
  uuid: `u-${second}`,
  sessionId: session,
  isSidechain: false,
  timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  message: { id: `m-${second}`, model: "claude-opus-5", content: [], usage: { input_tokens: input } },
});
