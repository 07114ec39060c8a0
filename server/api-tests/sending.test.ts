import { request as rawRequest } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { ErrorBody } from "@plimsoll/protocol/api";
import { type IngestAnswer, LIMITS } from "@plimsoll/protocol/events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpAnswer, startTestServer, type TestServer } from "../testing/server.ts";
import { countsOf, turn, unique } from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

function post(body: BodyInit, headers: Record<string, string> = {}) {
  return server.request<IngestAnswer>("/api/v1/events", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
    duplex: "half",
  });
}

function expectRefused(answer: HttpAnswer, status: number, code: string): string {
  expect(answer.status).toBe(status);
  const { error } = answer.body as ErrorBody;
  expect(error.code).toBe(code);
  return error.message;
}

async function storedTurns(): Promise<number> {
  return (await countsOf(server)).turn ?? 0;
}

const turns = (count: number) => Array.from({ length: count }, () => turn(unique("session"), 1_000));

describe("bodies", () => {
  it("takes one event, an array, an object of events and lines", async () => {
    const before = await storedTurns();
    expect((await post(JSON.stringify(turns(1)[0]))).body).toEqual({ accepted: 1, rejected: [] });
    expect((await post(JSON.stringify(turns(3)))).body.accepted).toBe(3);
    expect((await post(JSON.stringify({ events: turns(2) }))).body.accepted).toBe(2);
    const lines = `${turns(2)
      .map((event) => JSON.stringify(event))
      .join("\r\n")}\n\n`;
    for (const type of ["application/x-ndjson", "application/x-ndjson; charset=utf-8"]) {
      const answer = await post(lines, { "content-type": type, prefer: "respond-async, wait=5" });
      expect(answer.body.accepted + answer.body.duplicates!).toBe(2);
    }
    expect((await storedTurns()) - before).toBe(8);
  });

  it("takes an empty list, and JSON without a content type", async () => {
    expect((await post("[]")).body).toEqual({ accepted: 0, rejected: [] });
    expect((await post("[]", { prefer: "wait" })).body).toEqual({ accepted: 0, duplicates: 0, rejected: [] });
    const plain = await server.request<IngestAnswer>("/api/v1/events", {
      method: "POST",
      body: new Blob([JSON.stringify(turns(1))]),
    });
    expect(plain.body.accepted).toBe(1);
  });

  it("rejects a bad line by itself", async () => {
    const [first, last] = turns(2);
    const answer = await post(`${JSON.stringify(first)}\n{"id": "half\n7\n${JSON.stringify(last)}`, {
      "content-type": "application/x-ndjson",
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      accepted: 2,
      rejected: [
        { index: 1, code: "invalid_json", path: "" },
        { index: 2, code: "not_an_object", path: "" },
      ],
    });
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["GZIP", gzipSync],
    ["identity", (text: string) => Buffer.from(text)],
  ])("takes %s", async (encoding, compress) => {
    const answer = await post(compress(JSON.stringify(turns(5))), { "content-encoding": encoding });
    expect(answer.body).toMatchObject({ accepted: 5 });
  });

  it("takes compressed lines", async () => {
    const body = gzipSync(
      turns(4)
        .map((event) => JSON.stringify(event))
        .join("\n"),
    );
    const answer = await post(body, {
      "content-encoding": "gzip",
      "content-type": "application/x-ndjson",
    });
    expect(answer.body).toMatchObject({ accepted: 4, rejected: [] });
  });

  it("says where JSON that cannot be read breaks", async () => {
    const cases: [body: string, position: number][] = [
      ['{"a": bad}', 6],
      ["[1, 2", 5],
      ['[{"id": "a"},]', 13],
      ["", 0],
      ["nonsense", 1],
      ['{"id": "tab\there"}', 11],
      ['{"a": 1} {"a": 2}', 9],
    ];
    for (const [body, position] of cases) {
      const message = expectRefused(await post(body), 400, "bad_request");
      expect(message, body).toContain(`at position ${position}`);
    }
  });

  it("takes a byte order mark at the beginning", async () => {
    const body = `\ufeff${JSON.stringify(turns(1)[0])}`;
    expect((await post(body)).body.accepted).toBe(1);
    expect(
      (await post(body, { "content-type": "application/x-ndjson", prefer: "wait" })).body.duplicates,
    ).toBe(1);
  });

  it("refuses bytes that are no UTF-8 instead of storing something else", async () => {
    const latin = (id: string) => Buffer.from(JSON.stringify({ ...turns(1)[0], id }), "latin1");
    const message = expectRefused(await post(latin("caf\u00e9")), 400, "bad_request");
    expect(message).toContain("UTF-8");
    const lines = Buffer.concat([
      Buffer.from(`${JSON.stringify(turns(1)[0])}\n`),
      latin("caf\u00e9"),
      Buffer.from(`\n${JSON.stringify({ ...turns(1)[0], model: "mod\u00e8le" })}\n`),
    ]);
    expect((await post(lines, { "content-type": "application/x-ndjson" })).body).toMatchObject({
      accepted: 2,
      rejected: [{ index: 1, code: "invalid_json", message: "is not valid UTF-8" }],
    });
  });

  it("refuses JSON that holds no events, and compressed bodies that are none", async () => {
    expectRefused(await post('"text"'), 400, "bad_request");
    expectRefused(await post('{"events": 7}'), 400, "bad_request");
    expectRefused(await post("not gzip", { "content-encoding": "gzip" }), 400, "bad_request");
    const half = gzipSync(JSON.stringify(turns(100))).subarray(0, 200);
    expectRefused(await post(half, { "content-encoding": "gzip" }), 400, "bad_request");
  });

  it("refuses content types and encodings it does not know", async () => {
    const body = JSON.stringify(turns(1));
    for (const type of ["text/plain", "application/xml", "multipart/form-data; boundary=x"]) {
      expectRefused(await post(body, { "content-type": type }), 415, "unsupported_media_type");
    }
    for (const encoding of ["zstd", "gzip, gzip", "compress"]) {
      expectRefused(await post(body, { "content-encoding": encoding }), 415, "unsupported_media_type");
    }
  });
});

describe("limits", () => {
  it("refuses more than 10,000 events and takes 10,000", async () => {
    const [event] = turns(1);
    // One text alone, repeated, would expand more than a body may.
    const repeated = (times: number) =>
      gzipSync(
        JSON.stringify(Array.from({ length: times }, (_, n) => ({ ...event, ignored: Math.sqrt(n) }))),
      );
    const message = expectRefused(
      await post(repeated(LIMITS.events + 1), {
        "content-encoding": "gzip",
      }),
      413,
      "too_large",
    );
    expect(message).toContain("10001");
    const many = await post(repeated(LIMITS.events), {
      "content-encoding": "gzip",
      prefer: "wait",
    });
    expect(many.body).toEqual({ accepted: 1, duplicates: LIMITS.events - 1, rejected: [] });
  });

  it("refuses a body that is too large, declared or not", async () => {
    const body = Buffer.alloc(LIMITS.compressedBytes + 1, " ");
    expectRefused(await post(body), 413, "too_large");
    expectRefused(await post(body, { "content-encoding": "gzip" }), 413, "too_large");
    const chunked = new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += 65_536) controller.enqueue(body.subarray(at, at + 65_536));
        controller.close();
      },
    });
    expectRefused(await post(chunked), 413, "too_large");
  });

  it("answers a declared size without waiting for the body", async () => {
    const status = await new Promise((resolve, reject) => {
      const outgoing = rawRequest(
        `${server.url}/api/v1/events`,
        {
          method: "POST",
          headers: {
            authorization: `Bearer ${server.token}`,
            "content-type": "application/json",
            "content-length": String(1e12),
          },
        },
        (incoming) => {
          resolve(incoming.statusCode);
          outgoing.destroy();
        },
      );
      outgoing.on("error", reject);
      outgoing.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it("refuses what is small on the wire and too large unpacked", async () => {
    const bomb = Buffer.alloc(LIMITS.decompressedBytes + 1, " ");
    for (const [encoding, compress] of [
      ["gzip", gzipSync],
      ["deflate", deflateSync],
      ["br", brotliCompressSync],
    ] as const) {
      const packed = compress(bomb);
      expect(packed.length).toBeLessThan(LIMITS.compressedBytes);
      expectRefused(await post(packed, { "content-encoding": encoding }), 413, "too_large");
    }
  });

  it("refuses millions of tiny values without making an event of each", async () => {
    const gzip = { "content-encoding": "gzip" };
    expectRefused(await post(gzipSync(`[${"1,".repeat(5_000_000)}1]`), gzip), 413, "too_large");
    const lines = { ...gzip, "content-type": "application/x-ndjson" };
    expectRefused(await post(gzipSync("1\n".repeat(10_000_000)), lines), 413, "too_large");
    expectRefused(await post(gzipSync("\n".repeat(LIMITS.events + 1)), lines), 413, "too_large");
    expect((await post(gzipSync("\n".repeat(LIMITS.events)), lines)).body).toMatchObject({ accepted: 0 });
  });

  it("goes on after a sender that left in the middle of its body", async () => {
    await new Promise<void>((resolve) => {
      const outgoing = rawRequest(`${server.url}/api/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      });
      outgoing.on("error", () => resolve());
      outgoing.write('[{"id": "');
      setTimeout(() => outgoing.destroy(new Error("gone")), 50);
    });
    expect((await post(JSON.stringify(turns(1)))).body.accepted).toBe(1);
    expect(server.output()).not.toContain("unexpectedly");
  });
});
