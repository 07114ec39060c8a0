import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { timeLimit } from "@plimsoll/protocol/pure";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { within } from "../db/within.ts";
import { PlimsollError } from "../errors.ts";
import { type Access, actorOf, type Principal } from "../tenants/access/principal.ts";
import type { Audit } from "../tenants/audit/audit.ts";
import type { Restored, RestoreOptions } from "../upkeep/backup/restore.ts";
import type { WriteBackupOptions } from "../upkeep/backup/write-backup.ts";
import type { MachineEnv } from "./app.ts";
import { expectLongBody } from "./long-bodies.ts";

export interface BackupDeps {
  log: Logger;
  access: Pick<Access, "authorize">;
  audit: Pick<Audit, "note">;
  /** Epoch ms. */
  clock: () => number;
  write: (options: Pick<WriteBackupOptions, "now" | "signal">) => AsyncGenerator<Uint8Array>;
  restore: (options: Pick<RestoreOptions, "body" | "signal">) => Promise<Restored>;
  /** Milliseconds for which the other end may neither take nor send anything. */
  stallMs?: number;
}

const STALL_MS = 60_000;

/** `GET /api/v1/backup` and `POST /api/v1/restore`: everything of all projects, for a person alone. */
export function backupRoutes(deps: BackupDeps): (app: Hono<MachineEnv>) => void {
  const { log, access, audit, clock, stallMs = STALL_MS } = deps;
  let writing = false;

  const person = (incoming: IncomingMessage) => access.authorize(incoming, "back up");

  /** The one place that hears of every backup and restore. */
  async function note(
    action: "backup_written" | "backup_restored",
    principal: Principal,
    facts: object,
  ): Promise<void> {
    log.info({ by: principal.kind, ...facts }, action.replace("_", " "));
    const detail = Object.entries(facts).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`);
    await audit.note({ actor: actorOf(principal), action, detail: detail.join(", ") });
  }

  return (app) => {
    app.get("/api/v1/backup", async (c) => {
      const { incoming } = c.env;
      const outgoing = c.env.outgoing as ServerResponse;
      const principal = await person(incoming);
      if (incoming.method === "HEAD")
        return c.body(null, 200, { "Content-Type": "application/octet-stream" });
      if (writing)
        throw new PlimsollError("conflict", "Another backup is being written. Try again after it.");
      writing = true;
      const gone = goneSignal(outgoing);
      const now = clock();
      const frames = deps.write({ now, signal: gone });
      try {
        // Before the answer begins, so that a failure of the database still has a status.
        const first = await frames.next();
        outgoing.writeHead(200, {
          "Content-Type": "application/octet-stream",
          "Content-Disposition": `attachment; filename="${fileName(now)}"`,
          "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        });
        const bytes = await send(outgoing, first.value, frames, gone, stallMs);
        await note("backup_written", principal, { bytes });
      } catch (err) {
        if (!outgoing.headersSent) throw err;
        log.error({ err }, "a backup broke off");
        // Ended as usual, a backup that broke off would pass for a whole one until somebody needs it.
        outgoing.destroy();
      } finally {
        await frames.return(undefined);
        writing = false;
      }
      // Only now: whoever has the whole answer may ask for the next one.
      outgoing.end();
      return RESPONSE_ALREADY_SENT;
    });

    app.post("/api/v1/restore", async (c) => {
      const { incoming } = c.env;
      const principal = await person(incoming);
      expectLongBody(incoming.socket);
      try {
        const signal = goneSignal(c.env.outgoing as ServerResponse);
        const { result } = await deps.restore({ body: arriving(incoming, stallMs), signal });
        await note("backup_restored", principal, result);
        return c.json(result, 200, { "Cache-Control": "no-store" });
      } catch (error) {
        // The sender hears why only if it can still send what it has begun to.
        incoming.resume();
        throw error;
      }
    });
  };
}

/** Aborted if the other end leaves before it has the whole answer. */
function goneSignal(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Sends as fast as the other end takes it, and leaves the answer open. Returns the number of bytes. */
async function send(
  outgoing: ServerResponse,
  first: Uint8Array,
  frames: AsyncIterable<Uint8Array>,
  gone: AbortSignal,
  stallMs: number,
): Promise<number> {
  let bytes = 0;
  const write = async (frame: Uint8Array) => {
    bytes += frame.length;
    if (!outgoing.write(frame)) await once(outgoing, "drain", { signal: timeLimit(stallMs, gone) });
  };
  await write(first);
  for await (const frame of frames) await write(frame);
  return bytes;
}

/** The body of a request. A sender that is silent for too long must not keep the tables locked. */
async function* arriving(incoming: IncomingMessage, stallMs: number): AsyncGenerator<Uint8Array> {
  // Destroying the request would close the connection that the answer needs.
  const chunks = incoming.iterator({ destroyOnReturn: false });
  for (;;) {
    const next = await within(stallMs, chunks.next()).catch((cause) => {
      throw new PlimsollError(
        "bad_request",
        "The backup stopped arriving before its end. Nothing was restored.",
        { details: { reason: "truncated" }, cause },
      );
    });
    if (next.done) return;
    yield next.value as Uint8Array;
  }
}

/** Such as plimsoll-2026-11-23T0410.backup. */
const fileName = (now: number) =>
  `plimsoll-${new Date(now).toISOString().slice(0, 16).replaceAll(":", "")}.backup`;
