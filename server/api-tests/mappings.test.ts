import type {
  AuditPage,
  ProjectView,
  SavedMapping,
  SavedMappingList,
  SessionPage,
  TurnPage,
  UnmappedTelemetryList,
} from "@plimsoll/protocol/api";
import type { RecordMapping } from "@plimsoll/protocol/mapping";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { createEmitter, jsonBody, modelCall, type Protocol, pairs } from "./otlp-client.ts";
import { caughtUp, dayRange, makeKey, START, unique } from "./support.ts";
import { makeKeyIn } from "./two-projects.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let server: TestServer;
/** Another process on the same database. */
let other: TestServer;
let key: string;

beforeAll(async () => {
  database = await migratedDatabase();
  server = await startTestServer({ databaseUrl: database.url });
  other = await startTestServer({
    databaseUrl: database.url,
    env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "10" },
  });
  key = (await makeKey(server, "ingest")).secret;
});
afterAll(async () => {
  await Promise.all([server?.stop(), other?.stop()]);
  await database?.close();
});

/** A mapping of the attributes `<word>.run`, `<word>.in` and so on. */
const mappingOf = (word: string): RecordMapping => ({
  version: 1,
  name: word,
  match: { otlp: { attributes: [{ name: `${word}.in` }] } },
  session: `$.attributes['${word}.run']`,
  agent: `$.attributes['${word}.who']`,
  model: `$.attributes['${word}.model']`,
  usage: { input: `$.attributes['${word}.in']`, cache_read: `$.attributes['${word}.cached']` },
  basis: "inclusive",
  window: `$.attributes['${word}.limit']`,
});
const attributesOf = (word: string, session: string, n: number) => ({
  [`${word}.run`]: session,
  [`${word}.who`]: "scout",
  [`${word}.model`]: "m1",
  [`${word}.in`]: 1_000 * n,
  [`${word}.cached`]: 400,
  [`${word}.limit`]: 8_000,
});
const word = () => unique("house");

const put = (of: TestServer, mapping: object, name: string, headers: Record<string, string> = {}) =>
  of.request<SavedMapping>(`/api/v1/mappings/${name}`, {
    method: "PUT",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(mapping),
  });
const save = async (of: TestServer, mapping: RecordMapping, headers: Record<string, string> = {}) => {
  const { status, body } = await put(of, mapping, mapping.name, headers);
  expect({ status, body }).toMatchObject({ status: 200, body: { mapping } });
};

const span = (n: number, attributes: Parameters<typeof pairs>[0]) => ({
  spanId: n.toString(16).padStart(16, "0"),
  traceId: "0af7651916cd43dd8448eb211c80319c",
  endTimeUnixNano: `${START + n * 1_000}000000`,
  attributes: pairs(attributes),
});
const send = (of: TestServer, spans: object[], secret = key) =>
  of.request<Record<string, unknown>>("/otlp/v1/traces", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: jsonBody("traces", spans),
  });

const sessionsOf = async (session: string, headers: Record<string, string> = {}) => {
  await caughtUp(server);
  const range = new URLSearchParams({ ...dayRange, q: session });
  return (await server.request<SessionPage>(`/api/v1/sessions?${range}`, { headers })).body.items;
};

describe("a mapping on the server", () => {
  it.each<Protocol>(["http/protobuf", "http/json"])(
    "reads spans and log records over %s",
    async (protocol) => {
      const house = word();
      await save(server, mappingOf(house));
      const session = unique("mapped");
      const resource = { "service.name": "house-bot", "host.name": "here" };
      const emitter = createEmitter({ url: server.url, key, protocol, resource });
      emitter.span("call", START + 1_000, attributesOf(house, session, 1));
      emitter.span("call", START + 2_000, attributesOf(house, session, 2));
      emitter.log("call", START + 3_000, attributesOf(house, session, 3));
      emitter.span("tool", START + 4_000, { [`${house}.run`]: session });
      await emitter.end();
      await until(async () => (await sessionsOf(session)).some(({ turns }) => turns === 3));
      const [found] = await sessionsOf(session);
      expect(found).toMatchObject({ session, harness: "house-bot@here", peak_tokens: 3_000, model: "m1" });
      const { items } = await server.trpc<TurnPage>("sessions.turns", { id: found!.id });
      expect(items).toHaveLength(3);
    },
  );

  it("applies to records from then on, until it is removed, and the log of changes names both", async () => {
    const house = word();
    const session = unique("later");
    expect((await send(server, [span(1, attributesOf(house, session, 1))])).status).toBe(200);
    await save(server, mappingOf(house));
    await send(server, [span(2, attributesOf(house, session, 2))]);
    expect((await server.request(`/api/v1/mappings/${house}`, { method: "DELETE" })).status).toBe(200);
    await send(server, [span(3, attributesOf(house, session, 3))]);
    expect(await sessionsOf(session)).toMatchObject([{ turns: 1, peak_tokens: 2_000 }]);
    expect((await server.request(`/api/v1/mappings/${house}`, { method: "DELETE" })).status).toBe(404);
    const audit = await server.trpc<AuditPage>("audit.list", { topic: "mappings", limit: 2 });
    expect(audit.items.map(({ action, target }) => [action, target])).toEqual([
      ["mapping_removed", house],
      ["mapping_saved", house],
    ]);
  });

  it("follows changes that another process made", async () => {
    const house = word();
    const session = unique("two");
    // The other process has cached that there is no mapping.
    await send(other, [span(1, attributesOf(house, session, 1))]);
    await save(server, mappingOf(house));
    let n = 1;
    await until(async () => {
      n += 1;
      await send(other, [span(n, attributesOf(house, session, 1))]);
      return (await sessionsOf(session)).length === 1;
    });
    await server.mutate("mappings.remove", { name: house });
    const source = () => unmappedSource(server, `${house}.in`);
    const before = (await source())?.count ?? 0;
    await until(async () => {
      n += 1;
      await send(other, [span(n, attributesOf(house, session, 1))]);
      return ((await source())?.count ?? 0) > before;
    });
  });

  it("leaves a record of a dialect to the dialect", async () => {
    const house = word();
    const session = unique("dialect");
    await save(server, mappingOf(house));
    await send(server, [span(1, { ...modelCall(session, 1), ...attributesOf(house, unique("no"), 7) })]);
    expect(await sessionsOf(session)).toMatchObject([{ session, peak_tokens: 1_000 }]);
  });

  it("is named by the source that it reads, and by records in which it finds nothing", async () => {
    const house = word();
    await send(server, [span(1, { [`${house}.in`]: 5, [`${house}.run`]: "r" })]);
    await until(async () => (await unmappedSource(server, `${house}.in`)) !== undefined);
    await save(server, mappingOf(house));
    expect(await unmappedSource(server, `${house}.in`)).toMatchObject({ mapped_by: house });
    await send(server, [span(2, { [`${house}.in`]: "a secret", [`${house}.late`]: "a secret" })]);
    await until(async () => (await unmappedSource(server, `${house}.late`)) !== undefined);
    expect(await unmappedSource(server, `${house}.late`)).toMatchObject({
      reason: "no_usage",
      dialect: `mapping:${house}`,
      mapped_by: null,
    });
    expect(JSON.stringify(await server.trpc("ingest.unmapped"))).not.toContain("secret");
  });

  it("stays in its project", async () => {
    const house = word();
    const { id } = await server.mutate<ProjectView>("projects.create", { name: unique("project") });
    const secret = (await makeKeyIn(server, id, ["ingest"])).secret;
    const headers = { "plimsoll-project": String(id) };
    await save(server, mappingOf(house), headers);
    const session = unique("apart");
    await send(server, [span(1, attributesOf(house, session, 1))]);
    await send(server, [span(2, attributesOf(house, session, 2))], secret);
    expect(await sessionsOf(session)).toEqual([]);
    expect(await sessionsOf(session, headers)).toMatchObject([{ turns: 1, peak_tokens: 2_000 }]);
    const { mappings } = await server.trpc<SavedMappingList>("mappings.list");
    expect(mappings.map(({ mapping }) => mapping.name)).not.toContain(house);
  });

  it("counts toward the quota of the key", async () => {
    const house = word();
    await save(other, mappingOf(house));
    const spans = Array.from({ length: 101 }, (_, n) => span(n + 1, attributesOf(house, unique("much"), 1)));
    const { secret } = await makeKey(server, "ingest");
    // A full allowance lets one request through, whatever its size.
    expect((await send(other, spans, secret)).status).toBe(200);
    const refused = await send(other, spans, secret);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, expect.any(String)]);
  });

  it("stores no event with a time of another unit or with counts that are none", async () => {
    const house = word();
    const at = `$.attributes['${house}.at']`;
    await save(server, { ...mappingOf(house), time: { path: at, unit: "ms" } });
    const session = unique("hostile");
    const hostile = [
      { [`${house}.at`]: Math.floor(START / 1_000) },
      { [`${house}.at`]: `${START}000000` },
      { [`${house}.at`]: START, [`${house}.in`]: -5 },
      { [`${house}.at`]: START, [`${house}.in`]: "9".repeat(400) },
      { [`${house}.at`]: START, [`${house}.run`]: "" },
    ];
    const spans = hostile.map((change, n) => span(n + 1, { ...attributesOf(house, session, 1), ...change }));
    const good = span(9, { ...attributesOf(house, session, 3), [`${house}.at`]: String(START + 5_000) });
    expect(await send(server, [...spans, good])).toMatchObject({ status: 200, text: "{}" });
    expect(await sessionsOf(session)).toMatchObject([{ turns: 1, peak_tokens: 3_000 }]);
  });
});

describe("saving a mapping", () => {
  it.each([
    [{ usage: { input: "$.a[*]" } }, "usage.input", 'usage.input: "$.a[*]" is no path from character 4 on'],
    [{ match: { file: [{ path: "$.a" }] } }, "match.file", "match.file: must name at least two fields"],
    [{ version: 2 }, "version", "version"],
  ])("names the mistake in %j", async (change, path, message) => {
    const { status, body } = await put(server, { ...mappingOf("wrong"), ...change }, "wrong");
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: "invalid_field", message: expect.stringContaining(message), details: { path } },
    });
  });

  it("needs the scope admin; reading needs read", async () => {
    const { secret } = await makeKey(server, "read");
    const headers = { authorization: `Bearer ${secret}` };
    expect((await put(server, mappingOf("no"), "no", headers)).status).toBe(403);
    expect((await server.request("/api/v1/mappings/no", { method: "DELETE", headers })).status).toBe(403);
    expect((await server.request("/api/v1/mappings", { headers })).status).toBe(200);
  });

  it("replaces the mapping of its name, and stops at 50", async () => {
    const { id } = await server.mutate<ProjectView>("projects.create", { name: unique("project") });
    const headers = { "plimsoll-project": String(id) };
    for (let n = 0; n < 50; n += 1) await save(server, mappingOf(`m${n}`), headers);
    const { status, text } = await put(server, mappingOf("m50"), "m50", headers);
    expect([status, text]).toEqual([400, expect.stringContaining("at most 50 mappings")]);
    await save(server, { ...mappingOf("m0"), basis: "exclusive" }, headers);
    const { body } = await server.request<SavedMappingList>("/api/v1/mappings", { headers });
    expect(body.mappings).toHaveLength(50);
    expect(body.mappings[0]).toMatchObject({ mapping: { name: "m0", basis: "exclusive" } });
  });
});

async function unmappedSource(of: TestServer, attribute: string) {
  const { sources } = await of.trpc<UnmappedTelemetryList>("ingest.unmapped");
  return sources.find(({ attributes }) => attributes.includes(attribute));
}
