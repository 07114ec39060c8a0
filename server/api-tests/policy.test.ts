import { createHash } from "node:crypto";
import type {
  ErrorBody,
  PolicyAnswer,
  PolicyHarnessList,
  PolicyVersionDetail,
  PolicyVersionPage,
  RejudgingView,
  SessionDetail,
  SessionPage,
  WholePolicy,
} from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { canonicalJson } from "@plimsoll/protocol/policy";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { openLive } from "./live-client.ts";
import { dayRange, makeKey, sendAndWait, turn, unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let a: TestServer;
let b: TestServer;

beforeAll(async () => {
  database = await migratedDatabase();
  // With a quota, which test servers do not have.
  const env = { PLIMSOLL_QUOTA_READS_PER_SECOND: "50" };
  a = await startTestServer({ databaseUrl: database.url, env });
  b = await startTestServer({ databaseUrl: database.url });
});
afterEach(async () => {
  await Promise.all([a.expectHealthy(), b.expectHealthy()]);
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await database?.close();
});

const newest = async (server = a) => (await server.get<WholePolicy>("/api/v1/policy")).body;

async function put(policy: unknown, expected: number, more: object = {}, server = a) {
  return server.request<WholePolicy & ErrorBody>("/api/v1/policy", {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": `"${expected}"` },
    body: JSON.stringify({ policy, reason: "a test", ...more }),
  });
}

/** Saves thresholds for all. Returns the generation. */
async function save(thresholds: object, more: object = {}): Promise<number> {
  const { status, body, text } = await put({ settings: { thresholds } }, (await newest()).generation, more);
  expect(status, text).toBe(200);
  return body.generation;
}

const answerFor = (harness: string, server = a, headers: Record<string, string> = {}) =>
  server.request<PolicyAnswer>(`/api/v1/policy?harness=${encodeURIComponent(harness)}`, { headers });

const ackOf = ({ generation, hash }: PolicyAnswer, harness: string, more: object = {}) => ({
  id: unique("ack"),
  type: "policy_ack",
  at: Date.now(),
  harness,
  generation,
  hash,
  status: "applied",
  ...more,
});

async function viewOf(instance: string) {
  const { body } = await a.get<PolicyHarnessList>("/api/v1/policy/harnesses");
  return body.harnesses.find((harness) => harness.instance === instance)!;
}

async function detailOf(session: string): Promise<SessionDetail> {
  const { items } = await a.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  return (await a.get<SessionDetail>(`/api/v1/sessions/${items[0]!.id}`)).body;
}

describe("the policy of a harness", () => {
  it("is empty before there is one, and never means to clear anything", async () => {
    const { status, body, headers } = await answerFor("mine@1");
    expect(status).toBe(200);
    expect(body).toMatchObject({ generation: 0, settings: {} });
    expect(headers.get("plimsoll-policy-generation")).toBe("0");
  });

  it("has a hash that anybody can compute, as its ETag, and is not sent again", async () => {
    await save({ ceiling: "40%", warning: "30%" });
    const { body, headers } = await answerFor("mine@1");
    expect(body.settings).toEqual({ thresholds: { ceiling: "40%", warning: "30%" } });
    expect(body.hash).toBe(createHash("sha256").update(canonicalJson(body.settings)).digest("hex"));
    expect(headers.get("etag")).toBe(`"${body.hash}"`);
    const again = await answerFor("mine@1", a, { "if-none-match": headers.get("etag")! });
    expect([again.status, again.text]).toEqual([304, ""]);
  });

  it("keeps what a newer version knows, and prefers the more specific layer", async () => {
    const { generation } = await newest();
    const policy = {
      settings: { thresholds: { ceiling: "40%", future: 1 }, invented: { by: "a newer version" } },
      layers: [
        { scope: { family: "phantom" }, settings: { thresholds: { ceiling: "20%" } } },
        { scope: { harness: "phantom@vm-3" }, settings: { thresholds: { ceiling: 5_000 } } },
      ],
    };
    expect((await put(policy, generation)).status).toBe(200);
    const ceilings = await Promise.all(
      ["mine@1", "phantom@vm-1", "phantom@vm-3"].map(
        async (harness) => (await answerFor(harness)).body.settings,
      ),
    );
    expect(ceilings.map(({ thresholds }) => thresholds?.ceiling)).toEqual(["40%", "20%", 5_000]);
    expect(ceilings[0]).toMatchObject({ invented: { by: "a newer version" }, thresholds: { future: 1 } });
  });

  it("is answered to a thousand harnesses with one key at the same moment", async () => {
    const { secret } = await makeKey(a, "policy:read");
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        a.get<PolicyAnswer>(`/api/v1/policy?harness=mine%40${n}`, secret),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it("needs the scope policy:read or read", async () => {
    for (const [scope, status] of [
      ["policy:read", 200],
      ["read", 200],
      ["ingest", 403],
    ] as const) {
      const { secret } = await makeKey(a, scope);
      const answer = await a.get("/api/v1/policy?harness=mine%401", secret);
      expect(answer.status, scope).toBe(status);
    }
  });
});

describe("saving a policy", () => {
  it("refuses a version that somebody else has replaced, and shows both", async () => {
    const { generation } = await newest();
    expect((await put({ settings: { thresholds: { hard: "80%" } } }, generation, {}, b)).status).toBe(200);
    await until(async () => (await newest()).generation === generation + 1);
    const lost = await put({ settings: { thresholds: { hard: "85%" } } }, generation);
    expect(lost.status).toBe(412);
    expect(lost.body.error).toMatchObject({
      code: "policy_changed",
      details: {
        expected: generation,
        generation: generation + 1,
        theirs: { settings: { thresholds: { hard: "80%" } } },
        yours: { settings: { thresholds: { hard: "85%" } } },
      },
    });
  });

  it("lets only one of many win who change the same generation at once", async () => {
    const { generation } = await newest();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        put({ settings: { thresholds: { hard: 9_000 + n } } }, generation, {}, n % 2 ? a : b),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412, 412, 412]);
  });

  it("names every mistake with its field and the fix", async () => {
    const { generation } = await newest();
    const { status, body } = await put(
      { settings: { thresholds: { warning: "50%", ceiling: "20%", soft: 0 } } },
      generation,
    );
    expect(status).toBe(400);
    expect(body.error.details).toMatchObject({
      mistakes: [
        { path: "settings.thresholds.soft" },
        {
          path: "settings.thresholds.warning",
          message: expect.stringContaining("Lower warning or raise ceiling"),
        },
      ],
    });
    expect((await newest()).generation).toBe(generation);
  });

  it("keeps the comments of a policy that is sent as YAML, also when it is repeated", async () => {
    const text = "# Opus loses the thread\nsettings:\n  thresholds: { ceiling: 40% } # measured\n";
    const { generation } = await newest();
    const saved = await put(text, generation);
    expect([saved.status, saved.body.text, saved.body.policy]).toEqual([
      200,
      text,
      { settings: { thresholds: { ceiling: "40%" } }, layers: [] },
    ]);
    const commented = await put(text.replace("measured", "guessed"), generation + 1);
    expect(commented.body).toMatchObject({ generation: generation + 2, hash: saved.body.hash });
    // The other server hears of it a moment later.
    await until(async () => (await newest(b)).text?.includes("guessed") ?? false);
    const conflict = (await put({ settings: {} }, generation + 1)).body.error.details;
    expect(conflict).toMatchObject({ theirs_text: expect.stringContaining("guessed") });
    await put({ settings: {} }, generation + 2);
    expect((await newest()).text).toBeNull();
    const again = { generation: generation + 1, expected: generation + 3, reason: "again" };
    await a.mutate("policies.rollback", again);
    expect((await newest()).text).toBe(text);
    const version = await a.get<PolicyVersionDetail>(`/api/v1/policy/versions/${generation + 4}`);
    expect(version.body).toMatchObject({ text, restores: generation + 1 });
    const aliases = `a: &a [${"x,".repeat(50)}x]\n${Array.from({ length: 60 }, (_, n) => `k${n}: *a`).join("\n")}`;
    for (const wrong of ["settings: [", "a: 1\na: 2", "- a list", "words", aliases, "x: 1 # \0", "x: .nan"]) {
      const { status, body } = await put(wrong, generation + 4);
      expect([status, body.error.code], wrong).toEqual([
        400,
        expect.stringMatching(/bad_request|invalid_policy/),
      ]);
    }
  });

  it("refuses what no database can keep, wherever it is, with its place", async () => {
    const expected = (await newest()).generation;
    const thresholds = { ceiling: 50_000 };
    for (const [policy, path] of [
      [{ settings: { thresholds, invented: "a\0b" } }, "settings.invented"],
      [{ settings: { thresholds, "in\0vented": 1 } }, "settings"],
      [{ settings: { masking: { exclude: ["ok", "half \ud800"] } } }, "settings.masking.exclude.1"],
      [{ settings: {}, layers: [{ scope: { harness: "a\0@b" }, settings: {} }] }, "layers.0.scope.harness"],
      [{ settings: {}, layers: [{ scope: { model: "\udc00" }, settings: {} }] }, "layers.0.scope.model"],
      [{ settings: {}, layers: [], later: [{ deep: { er: "\0" } }] }, "later.0.deep.er"],
    ] as const) {
      const { status, body } = await put(policy, expected);
      expect([status, body.error.code], JSON.stringify(policy)).toEqual([400, "invalid_policy"]);
      expect(body.error.details).toMatchObject({ mistakes: [{ path }] });
    }
    const raw = (text: string, headers: object = {}) =>
      a.request<ErrorBody>("/api/v1/policy", {
        method: "PUT",
        headers: { "content-type": "application/json", "if-match": `"${expected}"`, ...headers },
        body: text,
      });
    for (const [text, headers] of [
      ['{"policy":{"settings":{"invented":1e999}},"reason":"a test"}', {}],
      ['{"policy":{"settings":{"thresholds":{"ceiling":1e999}}},"reason":"a test"}', {}],
      ['{"policy":{"settings":{"loop":{"max_context_pct":1e999}}},"reason":"a test"}', {}],
      ['{"policy":{},"reason":"half \\ud800 of one"}', {}],
      [
        '{"policy":{},"reason":"a test","rollout":{"strategy":"canary","harnesses":["a\\u0000"],"bake_s":1}}',
        {},
      ],
      [
        '{"policy":{},"reason":"a test","rollout":{"strategy":"canary","harnesses":["\\ud800"],"bake_s":1}}',
        {},
      ],
      ['{"policy":{},"reason":"a test"}', { "if-match": '"2147483648"' }],
      ['{"policy":{},"reason":"a test"}', { "if-match": '"99999999999999999999"' }],
    ] as const) {
      const { status } = await raw(text, headers);
      expect(status, `${text} ${JSON.stringify(headers)}`).toBe(400);
    }
    for (const path of [
      "policy/versions/2147483648",
      "policy/versions/9007199254740993",
      "policy/versions?cursor=2147483648",
      "policy?harness=a%00b",
      "policy?harness=a&model=%00",
    ])
      expect((await a.get(`/api/v1/${path}`)).status, path).toBe(400);
    for (const body of [
      { generation: 2_147_483_648, stage: 0, action: "halt" },
      { generation: 1, stage: 2_147_483_648, action: "halt" },
    ]) {
      const answer = await a.request("/api/v1/policy/rollout", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(answer.status, JSON.stringify(body)).toBe(400);
    }
    const half = await a.get(`/api/v1/policy?harness=${encodeURIComponent("a")}%ED%A0%80`);
    expect(half.status).toBeLessThan(500);
    expect((await newest()).generation).toBe(expected);
  });

  it("judges agents by a ceiling above what an integer column holds", async () => {
    const harness = `mine@${unique("large")}`;
    const session = unique("session");
    await save({ warning: null, ceiling: 3_000_000_000 });
    await sendAndWait(a, [
      ackOf((await answerFor(harness)).body, harness),
      turn(session, 50_000, { harness }),
    ]);
    const { items } = await a.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
    expect(items).toHaveLength(1);
    await a.expectHealthy();
  });

  it("needs the header If-Match, a reason, and the scope policy:write", async () => {
    const bare = await a.request<ErrorBody>("/api/v1/policy", {
      method: "PUT",
      body: '{"policy":{},"reason":"why"}',
    });
    expect([bare.status, bare.body.error.message]).toEqual([400, expect.stringContaining("If-Match")]);
    expect((await put({}, 0, { reason: "" })).body.error.message).toContain("say why");
    const { secret } = await makeKey(a, "policy:read");
    const refused = await a.request("/api/v1/policy", {
      method: "PUT",
      headers: { authorization: `Bearer ${secret}`, "if-match": "0" },
      body: "{}",
    });
    expect(refused.status).toBe(403);
  });

  it("keeps every version, with who saved it and why, and repeats an old one as a new one", async () => {
    const first = await save({ ceiling: 7_000 }, { reason: "the first of three" });
    const second = await save({ ceiling: 8_000 }, { reason: "the second of three" });
    const rolledBack = await a.mutate<WholePolicy>("policies.rollback", {
      generation: first,
      expected: second,
      reason: "the second was wrong",
    });
    expect(rolledBack).toMatchObject({
      generation: second + 1,
      policy: { settings: { thresholds: { ceiling: 7_000 } } },
    });
    const { body } = await a.get<PolicyVersionPage>("/api/v1/policy/versions?limit=3");
    expect(body.items).toMatchObject([
      { generation: second + 1, restores: first, reason: "the second was wrong", actor: "local" },
      { generation: second, restores: null, reason: "the second of three" },
      { generation: first, reason: "the first of three" },
    ]);
    expect(body.items[0]!.hash).toBe(body.items[2]!.hash);
    const version = await a.get<PolicyVersionDetail>(`/api/v1/policy/versions/${second}`);
    expect(version.body.policy.settings.thresholds).toEqual({ ceiling: 8_000 });
    expect((await a.get("/api/v1/policy/versions/99999")).status).toBe(404);
  });

  it("is heard on the live stream of every server, and in the answer to events", async () => {
    const streams = [
      await openLive(a, { query: "?only=policy" }),
      await openLive(b, { query: "?only=policy" }),
    ];
    const generation = await save({ ceiling: 7_500 });
    for (const stream of streams) {
      await until(() =>
        stream.messages.some((message) => message.type === "policy" && message.generation === generation),
      );
      expect(stream.messages.every(({ type }) => type === "policy")).toBe(true);
      stream.close();
    }
    for (const server of [a, b]) {
      const { headers } = await server.send(turn(unique("session"), 100, { harness: "mine@heard" }));
      expect(headers.get("plimsoll-policy-generation")).toBe(String(generation));
    }
  });
});

describe("a policy for history", () => {
  it("judges what is recorded of a project to which nobody sends any more", async () => {
    await save({ warning: "90%" });
    const session = unique("session");
    await sendAndWait(a, [
      turn(session, 60_000, { harness: `mine@${unique("past")}`, at: Date.now() - 60_000 }),
    ]);
    const warnings = async () =>
      (await a.trpc<SessionPage>("sessions.list", { ...dayRange, q: session })).items[0]!.warnings;
    expect(await warnings()).toBe(0);
    await save({ warning: "10%" }, { from: "history" });
    // Asked at once, while the projector has not seen the new version: zero must mean that the turns are judged.
    await until(async () => {
      const { body } = await b.get<RejudgingView>("/api/v1/policy/rejudging");
      if (body.agents_left > 0) return false;
      expect(await warnings()).toBe(1);
      return true;
    });
  });
});

describe("an acknowledgement", () => {
  it("moves the lines of the harness' agents, from its own time on", async () => {
    const harness = `mine@${unique("ack")}`;
    const session = unique("session");
    await save({ warning: null, ceiling: 60_000 });
    const first = (await answerFor(harness)).body;
    const start = Date.now() - 60_000;
    await sendAndWait(a, [
      ackOf(first, harness, { at: start }),
      turn(session, 50_000, { harness, at: start + 1_000 }),
    ]);
    expect((await detailOf(session)).agents[0]).toMatchObject({
      line: { threshold: "ceiling", tokens: 60_000 },
      policy_generation: first.generation,
      thresholds: [expect.objectContaining({ name: "ceiling", source: "acknowledged" }), expect.anything()],
    });
    const generation = await save({ warning: null, ceiling: 40_000 });
    expect((await detailOf(session)).agents[0]!.line!.tokens).toBe(60_000);
    expect(await viewOf(harness)).toMatchObject({
      state: "waiting",
      running: first.generation,
      desired: { generation },
    });
    const second = (await answerFor(harness, b)).body;
    await sendAndWait(b, [
      ackOf(second, harness, { at: start + 5_000 }),
      turn(session, 50_100, { harness, at: start + 6_000 }),
    ]);
    const { agents, crossings } = await detailOf(session);
    expect(agents[0]!.line!.tokens).toBe(40_000);
    expect(crossings.map(({ threshold, threshold_tokens }) => [threshold, threshold_tokens])).toEqual([
      ["ceiling", 40_000],
    ]);
    expect(await viewOf(harness)).toMatchObject({ state: "applied", running: generation, online: true });
  });

  it("spoiled by a wrong clock shows as the state of its harness, until the clock is right", async () => {
    await save({ ceiling: 61_000 });
    const [unheard, ahead, behind] = ["unheard", "ahead", "behind"].map((name) => `mine@${unique(name)}`);
    const stateOf = async (harness: string | undefined) => {
      const { body } = await a.get<PolicyHarnessList>("/api/v1/policy/harnesses");
      const found = body.harnesses.filter(({ instance }) => instance === harness);
      expect(found.length).toBeLessThan(2);
      return found[0];
    };
    await sendAndWait(a, [turn(unique("session"), 100, { harness: ahead })]);
    const answer = (await answerFor(ahead!)).body;
    const late = Date.now() + 42 * 60_000;
    const { body } = await sendAndWait(a, [
      ackOf(answer, ahead!, { at: late }),
      turn(unique("session"), 100, { harness: unheard, at: late }),
      ackOf(answer, behind!, { at: Date.now() - 90 * 60_000 }),
    ]);
    expect(body).toMatchObject({ accepted: 1, rejected: [{ code: "in_the_future" }, {}] });
    await until(async () => (await stateOf(unheard))?.state === "clock_off");
    for (const harness of [unheard, ahead])
      expect(await stateOf(harness)).toMatchObject({
        state: "clock_off",
        clock: expect.stringContaining("Its clock is 42 minutes ahead"),
        desired: { generation: answer.generation },
      });
    expect(await stateOf(behind)).toMatchObject({
      state: "clock_off",
      clock: expect.stringContaining("90 minutes behind"),
    });
    await sendAndWait(a, [ackOf(answer, behind!, { at: Date.now() })]);
    expect(await stateOf(behind)).toMatchObject({ state: "applied", clock: null });
  });

  it("that rejects leaves the lines as they are, and its reason is shown", async () => {
    const harness = `mine@${unique("ack")}`;
    const applied = await save({ ceiling: 60_000 });
    await sendAndWait(a, [ackOf((await answerFor(harness)).body, harness, { at: Date.now() - 1_000 })]);
    await save({ ceiling: 1_000 });
    const message = "thresholds.ceiling is 1000, and this harness takes at least 5000";
    await sendAndWait(a, [
      ackOf((await answerFor(harness)).body, harness, { status: "rejected", code: "out_of_bounds", message }),
    ]);
    expect(await viewOf(harness)).toMatchObject({
      state: "rejected",
      running: applied,
      said: { code: "out_of_bounds", message },
    });
  });

  it("shows what a harness runs instead, and whether it obeys that", async () => {
    const harness = `claude-code@${unique("ack")}`;
    const session = unique("session");
    await save({ ceiling: 40_000 });
    const differences = [{ path: "thresholds.ceiling", code: "clamped", wanted: 40_000, effective: 67_000 }];
    const at = Date.now() - 60_000;
    await sendAndWait(a, [
      ackOf((await answerFor(harness)).body, harness, {
        at,
        status: "overridden",
        code: "clamped",
        effective: { thresholds: { ceiling: 67_000 } },
        differences,
      }),
      ...[0, 1, 2].flatMap((n) => [
        turn(session, 160_000 + n, { harness, id: `turn-${n}`, at: at + 1_000 + n * 10_000 }),
        {
          id: `compacted-${n}`,
          type: "compacted",
          at: at + 2_000 + n * 10_000,
          harness,
          session,
          trigger: "auto",
          tokens_before: 160_000 + n,
          tokens_after: 20_000,
        },
      ]),
    ]);
    const view = await viewOf(harness);
    expect(view).toMatchObject({ state: "overridden", said: { differences } });
    expect(view.not_effective).toMatchObject({ compactions: 3, median: expect.closeTo(160 / 67, 3) });
  });

  it("of other settings than were saved is not taken for the saved ones", async () => {
    const harness = `mine@${unique("ack")}`;
    await save({ ceiling: 60_000 });
    const { body } = await answerFor(harness);
    await sendAndWait(a, [ackOf({ ...body, hash: "a".repeat(64) }, harness, { at: Date.now() - 1_000 })]);
    expect(await viewOf(harness)).toMatchObject({ state: "mismatched" });
    await sendAndWait(a, [ackOf(body, harness)]);
    expect(await viewOf(harness)).toMatchObject({ state: "applied" });
  });

  it("may be that of the settings for a model which the harness runs", async () => {
    const harness = `mine@${unique("ack")}`;
    const layers = [{ scope: { model: "model-x*" }, settings: { thresholds: { ceiling: 30_000 } } }];
    await sendAndWait(a, [turn(unique("session"), 10, { harness, model: "model-x-1" })]);
    const saved = await put(
      { settings: { thresholds: { ceiling: 60_000 } }, layers },
      (await newest()).generation,
    );
    expect(saved.status).toBe(200);
    const path = `/api/v1/policy?harness=${encodeURIComponent(harness)}&model=model-x-1`;
    const { body } = await a.get<PolicyAnswer>(path);
    expect(body.hash).not.toBe((await answerFor(harness)).body.hash);
    await sendAndWait(a, [ackOf(body, harness)]);
    expect(await viewOf(harness)).toMatchObject({ state: "applied" });
  });

  it("is all that a key with the scope policy:ack can send", async () => {
    const { secret } = await makeKey(a, "policy:read", "policy:ack");
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json", prefer: "wait" };
    const harness = `mine@${unique("ack")}`;
    const events = [
      turn(unique("session"), 10, { harness }),
      ackOf((await answerFor(harness)).body, harness),
    ];
    const request = { method: "POST", headers, body: JSON.stringify(events) };
    const { status, body } = await a.request<IngestAnswer>("/api/v1/events", request);
    expect([status, body]).toEqual([
      200,
      {
        accepted: 1,
        duplicates: 0,
        rejected: [
          {
            index: 0,
            id: events[0]!.id,
            code: "forbidden_type",
            path: "type",
            message: "turn needs a key with the scope ingest; this key sends policy_ack only",
          },
        ],
      },
    ]);
    expect(await viewOf(harness)).toMatchObject({ state: "applied" });
    const reader = await makeKey(a, "policy:read");
    const refused = await a.request<ErrorBody>("/api/v1/events", {
      ...request,
      headers: { ...headers, authorization: `Bearer ${reader.secret}` },
    });
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      expect.stringContaining("lacks the scope ingest or policy:ack"),
    ]);
  });

  it("may come again and again without effect", async () => {
    const harness = `mine@${unique("ack")}`;
    const ack = ackOf((await answerFor(harness)).body, harness);
    expect((await sendAndWait(a, [ack, ack])).body).toMatchObject({ accepted: 1, duplicates: 1 });
    expect((await sendAndWait(b, [ack])).body).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  it("is refused with the field that is wrong", async () => {
    const { body } = await a.send([{ ...ackOf((await answerFor("mine@1")).body, "mine@1"), hash: "short" }]);
    expect(body.rejected).toMatchObject([{ path: "hash", code: "invalid_field" }]);
  });
});
