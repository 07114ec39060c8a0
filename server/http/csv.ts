import {
  SelectedSessions,
  SessionSummary,
  SessionsQuery,
  TurnsQuery,
  TurnView,
} from "@plimsoll/protocol/api";
import { visibleText } from "@plimsoll/protocol/pure";
import type { Hono } from "hono";
import { stream } from "hono/streaming";
import type { Logger } from "pino";
import type { z } from "zod";
import { PlimsollError } from "../errors.ts";
import type { Access } from "../tenants/access/principal.ts";
import type { MachineContext, MachineEnv } from "./app.ts";
import type { BodyRoom } from "./body-room.ts";
import { parsedJson, withCallBody } from "./call-body.ts";

/** How rows become text. */
export interface ExportFormat {
  type: string;
  /** Before the first row. */
  head: string;
  line: (row: Record<string, unknown>) => string;
}

/** RFC 4180, with the names of the columns first. */
export const csvOf = (columns: readonly string[]): ExportFormat => ({
  type: "text/csv",
  head: csvLine(columns),
  line: (row) => csvLine(columns.map((column) => row[column])),
});

/** One page of rows and where the next begins. */
export interface RowPage {
  items: Record<string, unknown>[];
  next_cursor: string | null;
}

export interface CsvDeps {
  log: Logger;
  access: Pick<Access, "authorizeRead">;
  /** Milliseconds for which a client may take nothing of an export before it is cut; a minute by default. */
  stalledMs?: number;
  sessions: (projectId: number, query: SessionsQuery) => Promise<RowPage>;
  /** Sessions by id, in the order of the ids. */
  selected: (projectId: number, ids: readonly string[]) => Promise<RowPage["items"]>;
  turns: (projectId: number, query: TurnsQuery) => Promise<RowPage>;
  room: BodyRoom;
}

const PAGE = 500;
/** Turns of a page. Each page reads part of a segment again, so a page of few turns costs more a turn. */
const TURNS_PAGE = 2_000;
/** Rows after which other requests get their turn. */
const ROWS_AT_ONCE = 250;
/** Milliseconds for which a client may take nothing of an export. */
const STALLED_MS = 60_000;
/**
 * A sign that begins a formula, also in full width or small, where a cell begins: at the beginning, or behind a separator at
 * which a spreadsheet with other settings divides the text.
 */
const FORMULA =
  /(^|[,;|\t\r\n])(?=(?:[^\S\t\r\n]|\p{Cf})*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b])/gu;
/** A line break at the beginning, behind which a cell may begin. */
const BREAK = /^[\t\r\n]/;

/** From the schemas, so that a list without rows names its columns too. Nested values and keys have no place in a table. */
const SESSIONS = csvOf(Object.keys(SessionSummary.shape));
const NOT_IN_CSV: ReadonlySet<string> = new Set(["composition", "key", "window_claims"]);
const TURNS = csvOf(Object.keys(TurnView.shape).filter((name) => !NOT_IN_CSV.has(name)));

/** `/api/v1/sessions.csv`, also for a selection, and `/api/v1/sessions/{id}/turns.csv`: everything the filters match, page by page. */
export function csvRoutes({
  log,
  access,
  sessions,
  selected,
  turns,
  stalledMs,
  room,
}: CsvDeps): (app: Hono<MachineEnv>) => void {
  const options = { log, stalledMs };
  return (app) => {
    app.get("/api/v1/sessions.csv", async (c) => {
      const { projectId } = await access.authorizeRead(c.env.incoming);
      const query = parseQuery(SessionsQuery, { ...c.req.query(), limit: PAGE });
      c.header("Content-Disposition", 'attachment; filename="plimsoll-sessions.csv"');
      return sendExport(c, options, SESSIONS, (cursor) => sessions(projectId, { ...query, cursor }));
    });

    // By POST, because the ids of a selection do not fit a URL.
    app.post("/api/v1/sessions.csv", async (c) => {
      const { projectId } = await access.authorizeRead(c.env.incoming);
      const { ids } = await withCallBody(room, projectId, c.env.incoming, (bytes) =>
        parseQuery(SelectedSessions, parsedJson(bytes)),
      );
      c.header("Content-Disposition", 'attachment; filename="plimsoll-sessions.csv"');
      return sendExport(c, options, SESSIONS, async () => ({
        items: await selected(projectId, ids),
        next_cursor: null,
      }));
    });

    app.get("/api/v1/sessions/:id/turns.csv", async (c) => {
      const { projectId } = await access.authorizeRead(c.env.incoming);
      const query = parseQuery(TurnsQuery.omit({ turn: true }), {
        ...c.req.query(),
        id: c.req.param("id"),
        limit: PAGE,
      });
      query.limit = TURNS_PAGE;
      c.header("Content-Disposition", `attachment; filename="plimsoll-turns-${query.id.slice(0, 8)}.csv"`);
      return sendExport(c, options, TURNS, (cursor) => turns(projectId, { ...query, cursor }));
    });
  };
}

export function parseQuery<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlimsollError("invalid_field", `${issue?.path.join(".")}: ${issue?.message}`);
}

/**
 * Sends every page as the client takes it. Reads one page ahead.
 * A page that cannot be read cuts the connection, so that the client knows that rows are missing.
 */
export async function sendExport(
  c: MachineContext,
  { log, stalledMs = STALLED_MS }: Pick<CsvDeps, "log" | "stalledMs">,
  format: ExportFormat,
  read: (cursor: string | undefined) => Promise<RowPage>,
): Promise<Response> {
  // Before the answer begins, so that an unknown session is still a 404.
  const first = await read(undefined);
  c.header("Content-Type", `${format.type}; charset=utf-8`);
  c.header("Cache-Control", "no-store");
  const { outgoing } = c.env;
  outgoing.setTimeout(stalledMs, () => outgoing.destroy());
  return stream(
    c,
    async (out) => {
      let page = first;
      await out.write(format.head);
      for (;;) {
        // While the client takes this page. A failure is thrown once the page is sent.
        const next = page.next_cursor === null ? undefined : read(page.next_cursor);
        next?.catch(() => {});
        for (let from = 0; from < page.items.length; from += ROWS_AT_ONCE) {
          const rows = page.items.slice(from, from + ROWS_AT_ONCE);
          await out.write(rows.map(format.line).join(""));
          if (out.aborted || outgoing.destroyed) return;
          await new Promise(setImmediate);
        }
        if (next === undefined) return;
        page = await next;
      }
    },
    async (err) => {
      log.error({ err, path: c.req.path }, "an export broke off");
      outgoing.destroy();
    },
  );
}

function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

/**
 * RFC 4180; text that a spreadsheet would run as a formula is made plain with an apostrophe, and hidden characters are shown.
 */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const plain = String(value).replace(FORMULA, "$1'");
  const safe = visibleText(BREAK.test(plain) ? `'${plain}` : plain);
  return /[",;|\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
