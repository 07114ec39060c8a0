import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { eventMaker, hintsAt } from "./events.ts";
import { HOSTILE_NAMES } from "./hostile.ts";
import { type HttpInput, headerText } from "./http-input.ts";
import { jsonText } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { Random } from "./random.ts";

const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const ENCODERS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => gzipSync(bytes, { level: 1 }),
  "x-gzip": (bytes) => gzipSync(bytes, { level: 1 }),
  deflate: (bytes) => deflateSync(bytes, { level: 1 }),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

/**
 * Makes the bodies of `POST /api/v1/events` one by one.
 * @param now epoch ms that the events' times are near
 */
export function bodyInputs(
  seed: number,
  now: number,
  kept: readonly HttpInput[],
): (index: number) => HttpInput {
  const event = eventMaker(seed, hintsAt(now));
  return (index) => {
    const random = new Random(seed, index);
    if (kept.length > 0 && random.oneIn(50)) return mutatedKept(random, random.pick(kept));
    const lines = random.oneIn(3);
    const plain = bodyOf(random, event, lines);
    const { bytes, encoding } = encoded(random, plain);
    const headers: [string, string][] = [["Content-Type", contentType(random, lines)]];
    if (encoding !== undefined) headers.push(["Content-Encoding", encoding]);
    if (random.oneIn(1_000))
      headers.push(["Prefer", random.pick(["wait", "respond-async, wait=1", "wait=-1", "WAIT"])]);
    if (random.oneIn(200)) headers.push(["Plimsoll-Project", random.pick(["1", "2", "%", "%00", "default"])]);
    return {
      as: random.weighted([
        [95, "ingest"],
        [3, "local"],
        [1, "read"],
        [1, "nobody"],
      ] as const),
      method: "POST",
      path: random.oneIn(300) ? "/api/v1/events?toString=a&__proto__=b" : "/api/v1/events",
      headers,
      body: bytes,
    };
  };
}

function mutatedKept(random: Random, kept: HttpInput): HttpInput {
  // Large ones are attacks on memory and time: they are replayed as they are, by the test.
  if (kept.body.length > 16_384) return { ...kept, body: kept.body.subarray(0, random.below(1_024)) };
  return { ...kept, body: mutateBytes(random, kept.body) };
}

function bodyOf(random: Random, event: (random: Random) => unknown, lines: boolean): Buffer {
  const count = random.weighted([
    [600, 1],
    [300, random.between(2, 6)],
    [10, random.between(20, 60)],
  ] as const);
  let events: unknown[] = Array.from({ length: count }, () => {
    const valid = event(random);
    return random.below(100) < 65 ? mutateJson(random, valid) : valid;
  });
  // A list longer than a request may hold, of items that cost nothing to write.
  if (random.oneIn(3_000)) events = Array<unknown>(10_001).fill(random.pick([0, null, {}, []]));
  let text: string;
  if (lines) {
    text = events.map(jsonText).join(
      random.weighted([
        [50, "\n"],
        [2, "\r\n"],
        [1, "\n\n \n"],
        [1, ""],
      ] as const),
    );
  } else {
    const whole = random.weighted([
      [4, events],
      [3, events.length === 1 ? events[0] : events],
      [2, { events }],
    ] as const);
    text = jsonText(random.oneIn(12) ? mutateJson(random, whole) : whole);
  }
  let bytes: Buffer = Buffer.from(text);
  if (random.oneIn(5)) bytes = mutateBytes(random, bytes);
  if (random.oneIn(40)) bytes = Buffer.concat([BYTE_ORDER_MARK, bytes]);
  if (random.oneIn(40)) bytes = bytes.subarray(0, random.below(bytes.length + 1));
  return bytes;
}

/** A body as it is or compressed, sometimes not as its header says. */
export function encoded(random: Random, plain: Buffer): { bytes: Buffer; encoding?: string } {
  if (random.below(10) < 7) return { bytes: plain };
  const name = random.pick(Object.keys(ENCODERS));
  const bytes = ENCODERS[name]!(plain);
  switch (random.below(10)) {
    case 0:
      return { bytes: mutateBytes(random, bytes), encoding: name };
    case 1:
      return { bytes: bytes.subarray(0, random.below(bytes.length + 1)), encoding: name };
    case 2:
      return { bytes: Buffer.concat([bytes, bytes]), encoding: name };
    case 3:
      return { bytes: plain, encoding: name };
    case 4:
      return { bytes, encoding: random.pick(Object.keys(ENCODERS)) };
    case 5:
      return { bytes: deflateRawSync(plain), encoding: "deflate" };
    case 6:
      return {
        bytes,
        encoding: headerText(
          random.pick([
            ...HOSTILE_NAMES,
            "gzip, gzip",
            "GZIP",
            " gzip ",
            "*",
            "identity",
            "zstd",
            "gzip;q=1",
          ]),
        ),
      };
    default:
      return { bytes, encoding: name };
  }
}

function contentType(random: Random, lines: boolean): string {
  if (!random.oneIn(30)) return lines ? NDJSON_TYPE : JSON_TYPE;
  return headerText(
    random.pick([
      lines ? JSON_TYPE : NDJSON_TYPE,
      "application/jsonl",
      "APPLICATION/JSON; charset=utf-16",
      "application/json;",
      "text/plain",
      "multipart/form-data; boundary=x",
      "",
      ";",
      ...HOSTILE_NAMES,
    ]),
  );
}
