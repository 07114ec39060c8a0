import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { LIMITS } from "@plimsoll/protocol";
import { describe, expect, it } from "vitest";
import { decodeBody, type EncodedBody } from "./decode.ts";

const body = (bytes: Buffer | string, given: Partial<EncodedBody> = {}): EncodedBody => ({
  bytes: Buffer.from(bytes),
  contentType: "application/json",
  contentEncoding: undefined,
  decompressed: () => {},
  ...given,
});
const lines = { contentType: "application/x-ndjson; charset=utf-8" };
const two = '[{"id":"a"},{"id":"b"}]';
const TWO = [{ value: { id: "a" } }, { value: { id: "b" } }];

describe("a body becomes events", () => {
  it.each<[string, EncodedBody, unknown[]]>([
    ["of an array", body(two), TWO],
    ["of an object with events", body(`{"events":${two}}`), TWO],
    ["of one event", body('{"id":"a"}'), [TWO[0]]],
    ["without a content type", body(two, { contentType: undefined }), TWO],
    ["whatever the case of the content type", body(two, { contentType: "Application/JSON" }), TWO],
    ["after a byte order mark", body(`\ufeff${two}`), TWO],
    ["of values that are no events", body('[1,null,"x"]'), [{ value: 1 }, { value: null }, { value: "x" }]],
    ["of an empty list", body("[]"), []],
    ["of lines", body('{"id":"a"}\n\r\n  \n{"id":"b"}', lines), TWO],
    [
      "of lines, each on its own",
      body('{"id":"a"}\n{"id":\n{"id":"b"}\n', lines),
      [TWO[0], { unreadable: "is not valid JSON at position 6 of its line" }, TWO[1]],
    ],
    [
      "of lines, one with bytes that are no UTF-8",
      body(
        Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('"}\n{"id":"b"}')]),
        lines,
      ),
      [{ unreadable: "is not valid UTF-8" }, TWO[1]],
    ],
    ["of an empty body of lines", body("", lines), []],
    ["from gzip", body(gzipSync(two), { contentEncoding: "gzip" }), TWO],
    ["from x-gzip", body(gzipSync(two), { contentEncoding: "X-GZIP " }), TWO],
    ["from deflate", body(deflateSync(two), { contentEncoding: "deflate" }), TWO],
    ["from Brotli", body(brotliCompressSync(two), { contentEncoding: "br" }), TWO],
    ["from the encoding identity", body(two, { contentEncoding: "identity" }), TWO],
  ])("%s", async (_, given, expected) => {
    expect(await decodeBody(given)).toEqual(expected);
  });
});

describe("a body is refused", () => {
  const many = (count: number) => `[${Array(count).fill(1).join()}]`;

  it.each<[string, EncodedBody, string, RegExp]>([
    ["with an unknown content type", body(two, { contentType: "text/csv" }), "unsupported_media_type", /csv/],
    ["with an unknown encoding", body(two, { contentEncoding: "zstd" }), "unsupported_media_type", /zstd/],
    ["that ends too soon", body('[{"id":'), "bad_request", /ends too soon at position 7/],
    ["that breaks", body('[{"id" 1}]'), "bad_request", /breaks at position 7/],
    ["that is a number", body("7"), "bad_request", /array of events/],
    ["whose events are no array", body('{"events":{}}'), "bad_request", /"events" must be an array/],
    ["with bytes that are no UTF-8", body(Buffer.from([0x5b, 0xff, 0x5d])), "bad_request", /UTF-8/],
    ["that is not what its encoding says", body(two, { contentEncoding: "gzip" }), "bad_request", /gzip/],
    ["with too many events", body(many(LIMITS.events + 1)), "too_large", /10001 events/],
    [
      "with too many lines",
      body("1\n".repeat(LIMITS.events + 1), lines),
      "too_large",
      /10001 or more events/,
    ],
    [
      "with too many bytes",
      body(Buffer.alloc(LIMITS.compressedBytes + 1, 0x20)),
      "too_large",
      /over the limit/,
    ],
    [
      "with too many bytes once decompressed",
      body(gzipSync(Buffer.alloc(LIMITS.decompressedBytes + 1, 0x20)), { contentEncoding: "gzip" }),
      "too_large",
      /once decompressed/,
    ],
  ])("%s", async (_, given, code, message) => {
    await expect(decodeBody(given)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

it("a body tells its size once decompressed, and what that throws refuses it", async () => {
  const told: number[] = [];
  const given = { contentEncoding: "gzip", decompressed: (bytes: number) => void told.push(bytes) };
  await decodeBody(body(gzipSync(two), given));
  expect(told).toEqual([two.length]);
  const full = () => {
    throw new Error("no room");
  };
  await expect(decodeBody(body(gzipSync(two), { ...given, decompressed: full }))).rejects.toThrow("no room");
});
