import { OTLPLogExporter as JsonLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { START } from "./support.ts";

type Attributes = Record<string, string | number | boolean | string[]>;
export type Protocol = "http/protobuf" | "http/json";

interface EmitterOptions {
  /** The base URL of the server. */
  url: string;
  key: string;
  protocol: Protocol;
  resource: Attributes;
  scope?: string;
}

const EXPORTERS = {
  "http/protobuf": { traces: ProtobufTraceExporter, logs: ProtobufLogExporter },
  "http/json": { traces: JsonTraceExporter, logs: JsonLogExporter },
};

/** The OpenTelemetry SDK, set up as its users do. Every record is exported as soon as it ends. */
export function createEmitter({ url, key, protocol, resource, scope = "test" }: EmitterOptions) {
  const { traces: TraceExporter, logs: LogExporter } = EXPORTERS[protocol];
  const headers = { "x-api-key": key };
  const described = resourceFromAttributes(resource);
  const traces = new TraceExporter({ url: `${url}/otlp/v1/traces`, headers });
  const ended = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({
    resource: described,
    spanProcessors: [new SimpleSpanProcessor(traces), new SimpleSpanProcessor(ended)],
  });
  const loggers = new LoggerProvider({
    resource: described,
    processors: [
      new SimpleLogRecordProcessor({ exporter: new LogExporter({ url: `${url}/otlp/v1/logs`, headers }) }),
    ],
  });
  return {
    tracers,
    tracer: tracers.getTracer(scope),
    /** @param at epoch ms */
    span(name: string, at: number, attributes: Attributes): void {
      tracers
        .getTracer(scope)
        .startSpan(name, { startTime: at - 1_000, attributes })
        .end(at);
    },
    /** @param at epoch ms */
    log(eventName: string, at: number, attributes: Attributes): void {
      loggers.getLogger(scope).emit({ body: eventName, timestamp: at, attributes });
    },
    /** Waits for all exports, and exports every span again, the newest first. Resolves with the code of the result. */
    async repeat(): Promise<number> {
      await tracers.forceFlush();
      const spans = ended.getFinishedSpans().toReversed();
      return new Promise((resolve) => traces.export(spans, ({ code }) => resolve(code)));
    },
    /** Waits for all exports and ends the SDK. */
    async end(): Promise<void> {
      await tracers.forceFlush();
      await loggers.forceFlush();
      await tracers.shutdown();
      await loggers.shutdown();
    },
  };
}

/** A request body in OTLP/JSON. */
export function jsonBody(
  signal: "traces" | "logs",
  records: readonly object[],
  resource: Attributes = {},
): string {
  const [outer, inner, list] =
    signal === "traces"
      ? (["resourceSpans", "scopeSpans", "spans"] as const)
      : (["resourceLogs", "scopeLogs", "logRecords"] as const);
  return JSON.stringify({
    [outer]: [{ resource: { attributes: pairs(resource) }, [inner]: [{ [list]: records }] }],
  });
}

export function pairs(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === "number"
        ? { intValue: String(value) }
        : typeof value === "boolean"
          ? { boolValue: value }
          : { stringValue: String(value) },
  }));
}

/** Attributes of the nth model call of a session, by the GenAI conventions. */
export const modelCall = (session: string, n: number, more: Record<string, string | number> = {}) => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-sonnet-4-5",
  "gen_ai.conversation.id": session,
  "gen_ai.response.id": `msg-${n}`,
  "gen_ai.usage.input_tokens": 1_000 * n,
  "gen_ai.usage.output_tokens": 10,
  ...more,
});

/** The span of the nth model call, in OTLP/JSON. */
export const modelCallSpan = (session: string, n: number, more: Record<string, string | number> = {}) => ({
  spanId: n.toString(16).padStart(16, "0"),
  traceId: "0af7651916cd43dd8448eb211c80319c",
  startTimeUnixNano: `${START + n * 1_000 - 500}000000`,
  endTimeUnixNano: `${START + n * 1_000}000000`,
  attributes: pairs(modelCall(session, n, more)),
});
