import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { TELEMETRY_SIGNALS, type TelemetrySignal } from "@plimsoll/protocol/api";
import { encodeSpans } from "../server/testing/otlp-protobuf.ts";
import { encoded } from "./bodies.ts";
import { HOSTILE_NAMES } from "./hostile.ts";
import { type HttpInput, headerText } from "./http-input.ts";
import { jsonText } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { Random } from "./random.ts";

const JSON_TYPE = "application/json";
const PROTOBUF_TYPE = "application/x-protobuf";

/** Attributes of a call, as the conventions name them. */
const ATTRIBUTES = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-sonnet-4-5",
  "gen_ai.usage.input_tokens": 41_000,
  "gen_ai.usage.output_tokens": 300,
  "gen_ai.usage.cache_read.input_tokens": 900,
  "gen_ai.conversation.id": "s1",
  "session.id": "s1",
  "gen_ai.input.messages": JSON.stringify([
    { role: "user", parts: [{ type: "text", content: "Go." }] },
    { role: "assistant", parts: [{ type: "tool_call", id: "1", name: "mcp__a__b", arguments: {} }] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "1", response: ["row"] }] },
  ]),
  "gen_ai.prompt.0.content": "Go.",
};

/** Makes the bodies of `POST /otlp/v1/{traces,logs,metrics}` one by one. @param now epoch ms that times are near */
export function telemetryInputs(
  seed: number,
  now: number,
  kept: readonly HttpInput[],
): (index: number) => HttpInput {
  return (index) => {
    const random = new Random(seed, index);
    if (kept.length > 0 && random.oneIn(50)) {
      const input = random.pick(kept);
      return { ...input, body: mutateBytes(random, input.body.subarray(0, 16_384)) };
    }
    const signal = random.pick(TELEMETRY_SIGNALS);
    const isJson = random.oneIn(2);
    const plain = isJson ? jsonBody(random, signal, now) : protobufBody(random, signal, now);
    const { bytes, encoding } = encoded(random, random.oneIn(4) ? mutateBytes(random, plain) : plain);
    const type = random.oneIn(30)
      ? random.pick([...HOSTILE_NAMES, JSON_TYPE, PROTOBUF_TYPE])
      : isJson
        ? JSON_TYPE
        : PROTOBUF_TYPE;
    return {
      as: random.weighted([
        [95, "ingest"],
        [3, "local"],
        [1, "read"],
        [1, "nobody"],
      ] as const),
      method: "POST",
      path: `/otlp/v1/${signal}`,
      headers: [
        ["Content-Type", headerText(type)],
        ...(encoding === undefined ? [] : [["Content-Encoding", encoding] as const]),
      ],
      body: bytes,
    };
  };
}

const nanoseconds = (ms: number) => String(BigInt(ms) * 1_000_000n);

function attributesOf(random: Random): object[] {
  return Object.entries(ATTRIBUTES).map(([key, value]) => ({
    key,
    value:
      typeof value === "string" || random.oneIn(4)
        ? { stringValue: String(value) }
        : { intValue: String(value) },
  }));
}

function jsonBody(random: Random, signal: TelemetrySignal, now: number): Buffer {
  const at = nanoseconds(now - random.below(3_600_000));
  const attributes = attributesOf(random);
  const hex = (digits: number) => random.bits().toString(16).padStart(digits, "a").slice(0, digits);
  const ids = { traceId: hex(32), spanId: hex(16), parentSpanId: "" };
  const resource = {
    attributes: [{ key: "service.name", value: { stringValue: random.pick(["claude-code", "agent", ""]) } }],
  };
  const scope = { name: random.pick(["com.anthropic.claude_code.events", "my.tracer", ""]) };
  const point = { attributes, timeUnixNano: at, asInt: "5" };
  const records = {
    traces: {
      resourceSpans: [
        {
          resource,
          scopeSpans: [
            {
              scope,
              spans: [
                { ...ids, name: "chat", kind: 3, startTimeUnixNano: at, endTimeUnixNano: at, attributes },
              ],
            },
          ],
        },
      ],
    },
    logs: {
      resourceLogs: [
        {
          resource,
          scopeLogs: [
            {
              scope,
              logRecords: [
                { ...ids, timeUnixNano: at, body: { stringValue: "claude_code.api_request" }, attributes },
              ],
            },
          ],
        },
      ],
    },
    metrics: {
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [
            { scope, metrics: [{ name: "gen_ai.client.token.usage", sum: { dataPoints: [point] } }] },
          ],
        },
      ],
    },
  };
  const whole = records[signal];
  return Buffer.from(jsonText(random.below(100) < 65 ? mutateJson(random, whole) : whole));
}

function protobufBody(random: Random, signal: TelemetrySignal, now: number): Buffer {
  if (signal !== "traces" || random.oneIn(3)) {
    const writer = new BinaryWriter();
    anyMessage(random, writer, 0);
    return Buffer.from(writer.finish());
  }
  const span = {
    spanId: "b7ad6b7169203331",
    name: "chat",
    endNs: BigInt(now) * 1_000_000n,
    attributes: ATTRIBUTES,
  };
  return encodeSpans({ "service.name": "agent" }, "my.tracer", [span, span]);
}

/** A message of fields with any number and type, which begins like a request: lists of lists of records. */
function anyMessage(random: Random, writer: BinaryWriter, depth: number): void {
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const field = depth < 3 ? random.pick([1, 2, 2, 2]) : random.between(1, 20);
    const kind = depth < 4 && !random.oneIn(5) ? 0 : random.below(5);
    if (kind === 0 && depth < 8) {
      writer.tag(field, WireType.LengthDelimited).fork();
      anyMessage(random, writer, depth + 1);
      writer.join();
    } else if (kind === 1) writer.tag(field, WireType.Varint).int64(random.pick([0, 1, -1, 2 ** 53 - 1]));
    else if (kind === 2) writer.tag(field, WireType.Bit64).double(random.pick([0, Number.NaN, 1e308, -1]));
    else if (kind === 3) writer.tag(field, WireType.Bit32).fixed32(random.bits() >>> 0);
    else writer.tag(field, WireType.LengthDelimited).string(random.pick(Object.keys(ATTRIBUTES)));
  }
}
