import { randomUUID } from "node:crypto";
import {
  type AuditAction,
  type AuditPage,
  type ErrorBody,
  type Extent,
  MOST_SAVED_VIEWS,
  MOST_TAGS,
  type SavedSessionViewList,
  type SessionCount,
  type SessionDetail,
  type SessionFilterValues,
  type SessionNoteText,
  type SessionPage,
  type TaggedSessions,
} from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { openLive } from "./live-client.ts";
import { KNOWN_WINDOW, makeKey, rangeQuery, START, turn, unique } from "./support.ts";

let server: TestServer;
const HOUR = 3_600_000;
/** Session ids by the name that its sender gave. */
const ids = new Map<string, string>();
const id = (name: string) => ids.get(name)!;

/** Turns one second apart, with these context tokens. */
const turns = (session: string, at: number, levels: number[], more = {}) =>
  levels.map((level, n) => turn(session, level, { at: at + n * 1_000, harness: "list@h", ...more }));

beforeAll(async () => {
  server = await startTestServer();
  const masked = (at: number) => ({
    id: unique("masked"),
    type: "masked",
    at,
    harness: "list@h",
    session: "masked",
    observations: 3,
    tokens_before: 60_000,
    tokens_after: 20_000,
  });
  const { body } = await server.send([
    ...turns("plain", START, [1_000, 2_000]),
    // Falls once, by itself, and once more in another hour.
    ...turns("fallen", START, [90_000, 10_000], { model: "claude-opus-4-6" }),
    ...turns("fallen", START + 2 * HOUR, [80_000, 5_000], { model: "claude-opus-4-6" }),
    ...turns("masked", START, [60_000]),
    masked(START + 1_500),
    ...turns("masked", START + 2_000, [20_000]),
    ...turns("masked", START + 3 * HOUR, [21_000]),
    ...turns("full", START, [KNOWN_WINDOW - 2_000], { harness: "claude-code@h" }),
    {
      id: "s",
      type: "session",
      at: START,
      harness: "list@h",
      session: "plain",
      status: "started",
      title: "=Zebra, with | and ümlaut",
    },
  ]);
  expect(body.rejected).toEqual([]);
  for (const item of (await list("limit=500")).items) ids.set(item.session, item.id);
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

async function list(query: string, range = rangeQuery): Promise<SessionPage> {
  const { status, body, text } = await server.get<SessionPage>(`/api/v1/sessions?${range}&${query}`);
  expect(status, text).toBe(200);
  return body;
}
const names = async (query: string, range = rangeQuery) =>
  (await list(query, range)).items.map(({ session }) => session).sort();

const between = (from: number, to: number) =>
  new URLSearchParams({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
  }).toString();

async function put<T>(path: string, body: object, method = "PUT", key?: string) {
  return server.request<T>(path, {
    method,
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
  });
}
const tag = (names: string[], tag: string, action = "add") =>
  server.mutate<TaggedSessions>("sessions.tag", { ids: names.map(id), tag, action });

describe("filters", () => {
  it("find sessions by model, reason and warning", async () => {
    expect(await names("model=claude-opus-4-6")).toEqual(["fallen"]);
    expect(await names("reason=masked")).toEqual(["masked"]);
    expect(await names("reason=unexplained")).toContain("fallen");
    expect(await names("reason=cleared")).toEqual([]);
    expect(await names("model=nobody")).toEqual([]);
    const warned = (await list("limit=500")).items.filter(({ warnings }) => warnings > 0);
    expect(await names("warned=1")).toEqual(warned.map(({ session }) => session).sort());
    expect(warned.length).toBeGreaterThan(0);
  });

  it("look for falls only in the range, also in sessions that reach beyond it", async () => {
    const early = between(START - HOUR, START + HOUR);
    const late = between(START + HOUR, START + 5 * HOUR);
    expect(await names("reason=masked", early)).toEqual(["masked"]);
    expect(await names("reason=masked", late)).toEqual([]);
    expect(await names("reason=unexplained", late)).toContain("fallen");
    expect(await names("", late)).toContain("masked");
  });

  it("name the field that is wrong", async () => {
    for (const [query, field] of [
      ["reason=tired", "reason"],
      ["warned=yes", "warned"],
      ["model=", "model"],
      ["tag=%20", "tag"],
      ["tag=a%00b", "tag"],
    ]) {
      const { status, body } = await server.get<ErrorBody>(`/api/v1/sessions?${rangeQuery}&${query}`);
      expect(status, query).toBe(400);
      expect(body.error.details, query).toEqual({ path: field });
    }
  });

  it("count as many sessions as they list", async () => {
    for (const query of [
      "",
      "harness=list%40h",
      "warned=1",
      "reason=unexplained",
      "q=fallen",
      "status=live",
    ]) {
      const { body } = await server.get<SessionCount>(`/api/v1/session-count?${rangeQuery}&${query}`);
      expect(body, query).toEqual({
        sessions: (await list(`limit=500&${query}`)).items.length,
        more: false,
      });
    }
    const late = between(START + HOUR, START + 5 * HOUR);
    const { body } = await server.get<SessionCount>(`/api/v1/session-count?${late}&warned=1`);
    expect(body.sessions).toBe((await list("warned=1&limit=500", late)).items.length);
  });

  it("offer the models and tags there are, and the start of the history", async () => {
    const { body } = await server.get<SessionFilterValues>("/api/v1/session-values");
    expect(body.models).toContain("claude-opus-4-6");
    const extent = await server.get<Extent>("/api/v1/extent");
    const first = Date.parse(extent.body.first_at!);
    expect(first).toBeLessThanOrEqual(START);
    expect(first).toBeGreaterThan(START - 60_000);
    const other = await server.get<Extent>("/api/v1/extent?harness=nobody");
    expect(other.body.first_at).toBeNull();
  });
});

describe("tags", () => {
  it("are normalized, listed, filtered by and removed, once however often that is asked for", async () => {
    const added = await tag(["plain", "masked"], "  To   Review ");
    expect(added).toMatchObject({ tag: "to review", full: [] });
    expect(added.changed).toEqual([id("plain"), id("masked")].sort());
    expect((await tag(["plain"], "TO REVIEW")).changed).toEqual([]);
    expect(await names("tag=To%20Review")).toEqual(["masked", "plain"]);
    const { body } = await server.get<SessionDetail>(`/api/v1/sessions/${id("plain")}`);
    expect(body.session.tags).toEqual(["to review"]);
    const values = await server.get<SessionFilterValues>("/api/v1/session-values");
    expect(values.body.tags).toContainEqual({ tag: "to review", sessions: 2 });
    expect((await tag(["plain", "masked"], "to review", "remove")).changed).toHaveLength(2);
    expect((await tag(["plain"], "to review", "remove")).changed).toEqual([]);
    expect(await names("tag=to%20review")).toEqual([]);
  });

  it("leave out sessions that do not exist", async () => {
    const call = { ids: [randomUUID(), id("plain")], tag: "kept", action: "add" };
    const { changed } = await server.mutate<TaggedSessions>("sessions.tag", call);
    expect(changed).toEqual([id("plain")]);
    await tag(["plain"], "kept", "remove");
  });

  it("are at most 20 a session, also for calls at the same time", async () => {
    const all = await Promise.all(
      Array.from({ length: MOST_TAGS + 5 }, (_, n) => tag(["masked"], `tag ${n}`)),
    );
    expect(all.filter(({ changed }) => changed.length === 1)).toHaveLength(MOST_TAGS);
    expect(all.filter(({ full }) => full.length === 1)).toHaveLength(5);
    const { items } = await list("q=masked");
    expect(items[0]!.tags).toHaveLength(MOST_TAGS);
    // One that it has is no other one.
    expect((await tag(["masked"], items[0]!.tags[0]!)).full).toEqual([]);
    await Promise.all(items[0]!.tags.map((one) => tag(["masked"], one, "remove")));
  });

  it.each(["", "   ", "a,b", "x".repeat(51), "a\u0000b", "a\u202eb"])("refuse %j", async (wrong) => {
    const answer = await put<ErrorBody>(
      "/api/v1/session-tags",
      { ids: [id("plain")], tag: wrong, action: "add" },
      "POST",
    );
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe("invalid_field");
  });
});

describe("notes", () => {
  const save = (note: string, expected: number) =>
    put<SessionNoteText & ErrorBody>(`/api/v1/sessions/${id("fallen")}/note`, { note, expected });

  it("are kept, shown in part in lists, and deleted by an empty text", async () => {
    const text = `Look at this 🏴‍☠️\n${"long ".repeat(100)}`.trim();
    const first = await save(`  ${text}  `, 0);
    expect(first.body).toMatchObject({ note: text, revision: 1 });
    const { items } = await list("q=fallen");
    expect(Array.from(items[0]!.note_excerpt!)).toHaveLength(200);
    expect(text.startsWith(items[0]!.note_excerpt!)).toBe(true);
    const { body } = await server.get<SessionDetail>(`/api/v1/sessions/${id("fallen")}`);
    expect(body.note).toMatchObject({ note: text, revision: 1 });
    expect((await save("", 1)).body).toMatchObject({ note: "", revision: 2 });
    expect((await list("q=fallen")).items[0]!.note_excerpt).toBeNull();
  });

  it("do not overwrite what somebody else wrote meanwhile", async () => {
    const { note } = (await server.get<SessionDetail>(`/api/v1/sessions/${id("fallen")}`)).body;
    const answers = await Promise.all(["mine", "theirs", "ours"].map((text) => save(text, note.revision)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const lost = answers.find(({ status }) => status === 409)!;
    expect(lost.body.error).toMatchObject({ code: "conflict", details: { revision: note.revision + 1 } });
    // A repeated call is no conflict.
    const won = answers.find(({ status }) => status === 200)!.body.note;
    expect((await save(won, note.revision)).status).toBe(200);
  });

  it("refuse what is too long, hidden, or about no session", async () => {
    expect((await save("x".repeat(5_001), 0)).status).toBe(400);
    expect((await save("a\u0000", 0)).status).toBe(400);
    const nobody = await put<ErrorBody>(`/api/v1/sessions/${randomUUID()}/note`, { note: "x", expected: 0 });
    expect(nobody.status).toBe(404);
  });
});

describe("saved views", () => {
  const view = (name: string, more = {}) => ({
    id: randomUUID(),
    name,
    query: "status=live&sort=load",
    is_default: false,
    ...more,
  });
  const save = (saved: ReturnType<typeof view>) => put<ErrorBody>(`/api/v1/session-views/${saved.id}`, saved);
  const views = async () => (await server.trpc<SavedSessionViewList>("sessions.views.list", {})).views;
  const remove = (viewId: string) => server.request(`/api/v1/session-views/${viewId}`, { method: "DELETE" });

  it("are saved once, renamed and deleted, and one is the default", async () => {
    const [one, two] = [view("Live", { is_default: true }), view("Over", { is_default: true })];
    for (const saved of [one, one, two]) expect((await save(saved)).status).toBe(200);
    expect((await views()).map(({ name, is_default }) => [name, is_default])).toEqual([
      ["Live", false],
      ["Over", true],
    ]);
    expect((await save({ ...one, name: "Lively" })).status).toBe(200);
    const taken = await save({ ...two, name: "Lively" });
    expect(taken.status).toBe(409);
    expect(taken.body.error.message).toContain('"Lively"');
    for (const { id } of [one, two]) expect((await remove(id)).status).toBe(200);
    expect((await remove(one.id)).status).toBe(404);
    expect(await views()).toEqual([]);
  });

  it("hold parameters of the page and nothing else", async () => {
    for (const query of ["project=2", "status=live&view=x", "from=1", "x".repeat(2_001)])
      expect((await save(view("Wrong", { query }))).status, query).toBe(400);
    expect((await save(view(" "))).status).toBe(400);
  });

  it("are at most 100, and one default, also for calls at the same time", async () => {
    const many = Array.from({ length: MOST_SAVED_VIEWS + 3 }, (_, n) =>
      view(`View ${n}`, { is_default: true }),
    );
    const statuses: number[] = [];
    for (let from = 0; from < many.length; from += 8)
      for (const { status } of await Promise.all(many.slice(from, from + 8).map(save))) statuses.push(status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(MOST_SAVED_VIEWS);
    const saved = await views();
    expect(saved).toHaveLength(MOST_SAVED_VIEWS);
    expect(saved.filter((one) => one.is_default)).toHaveLength(1);
    for (const { id } of saved) await remove(id);
  });
});

describe("changes of sessions", () => {
  it("need a key with the scope sessions:write", async () => {
    const [reader, writer] = await Promise.all([
      makeKey(server, "read", "ingest", "policy:write", "alerts:write"),
      makeKey(server, "sessions:write"),
    ]);
    const viewId = randomUUID();
    const calls = [
      ["POST", "/api/v1/session-tags", { ids: [id("full")], tag: "by a key", action: "add" }],
      ["PUT", `/api/v1/sessions/${id("full")}/note`, { note: "by a key", expected: 0 }],
      ["PUT", `/api/v1/session-views/${viewId}`, { name: "By a key", query: "", is_default: false }],
      ["DELETE", `/api/v1/session-views/${viewId}`, {}],
    ] as const;
    for (const [method, path, body] of calls) {
      const refused = await put<ErrorBody>(path, body, method, reader.secret);
      expect(refused.status, path).toBe(403);
      expect(refused.body.error.code).toBe("forbidden_scope");
      expect((await put(path, body, method, writer.secret)).status, path).toBe(200);
    }
    const { body } = await server.get<SessionDetail>(`/api/v1/sessions/${id("full")}`);
    expect(body.note).toMatchObject({ note: "by a key", updated_by: writer.name });
  });

  it("are in the audit log, once each", async () => {
    const entries = (action: AuditAction) => server.trpc<AuditPage>("audit.list", { action, limit: 200 });
    for (const action of ["session_tagged", "session_untagged"] as const) {
      const { items } = await entries(action);
      expect(items.filter(({ target }) => target === "to review")).toHaveLength(1);
    }
    for (const action of ["session_note_saved", "session_view_saved", "session_view_deleted"] as const)
      expect((await entries(action)).items, action).not.toEqual([]);
  });
});

describe("the export of a selection", () => {
  const exported = (body: unknown) => put<ErrorBody>("/api/v1/sessions.csv", body as object, "POST");

  it("has the selected sessions in their order, and leaves out those that are gone", async () => {
    const { status, text } = await exported({ ids: [id("masked"), randomUUID(), id("plain")] });
    expect(status).toBe(200);
    const rows = text.trim().split("\r\n");
    expect(rows).toHaveLength(3);
    expect(rows[1]).toContain(id("masked"));
    expect(rows[2]).toContain(`"'=Zebra`);
  });

  it("refuses what is no selection", async () => {
    for (const body of [{}, { ids: [] }, { ids: ["x"] }, { ids: Array(501).fill(id("plain")) }])
      expect((await exported(body)).status).toBe(400);
    const { status } = await server.request("/api/v1/sessions.csv", {
      method: "POST",
      headers: { authorization: "", "content-type": "application/json" },
      body: "{}",
    });
    expect(status).toBe(401);
  });
});

it("the live stream names sessions whose tags change", async () => {
  const stream = await openLive(server);
  await tag(["plain"], "live");
  await stream.hears(id("plain"));
  stream.close();
});
