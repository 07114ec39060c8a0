import { encodeSpans, type OtlpSpan } from "../server/testing/otlp-protobuf.ts";

/** What the events of a fleet have that a span needs; see fleet.ts. */
interface FleetTurn {
  id: string;
  at: string;
  harness: string;
  session: string;
  agent: string;
  model: string;
  usage: {
    input_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    output_tokens: number;
  };
  duration_ms?: number;
  cost_usd?: number;
}

const NS_PER_MS = 1_000_000n;

/** The spans of turns, which are of one harness, as an SDK exports them: in OTLP's protobuf, by the GenAI conventions. */
export function otlpBody(turns: readonly string[]): Buffer {
  const parsed = turns.map((turn) => JSON.parse(turn) as FleetTurn);
  const [, host = ""] = parsed[0]!.harness.split("@");
  const resource = {
    "service.name": "fleet",
    "host.name": host,
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.name": "opentelemetry",
    "telemetry.sdk.version": "2.12.1",
  };
  return encodeSpans(resource, "gen_ai", parsed.map(spanOf));
}

/** The names are those of the AI SDK 7, whose input includes what the cache has. */
function spanOf(turn: FleetTurn): OtlpSpan {
  const { usage, duration_ms = 4_000, cost_usd } = turn;
  const endNs = BigInt(Date.parse(turn.at)) * NS_PER_MS;
  return {
    name: `chat ${turn.model}`,
    traceId: hexOf(turn.session, 32),
    spanId: hexOf(turn.id.slice(-16), 16),
    parentSpanId: hexOf(turn.session, 16),
    startNs: endNs - BigInt(duration_ms) * NS_PER_MS,
    endNs,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": turn.model,
      "gen_ai.response.model": turn.model,
      "gen_ai.response.id": turn.id,
      "gen_ai.conversation.id": turn.session,
      "gen_ai.agent.name": turn.agent,
      "gen_ai.client.operation.duration": duration_ms / 1_000,
      "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
      "gen_ai.usage.output_tokens": usage.output_tokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
      "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
      ...(cost_usd !== undefined && { "gen_ai.usage.cost": cost_usd }),
      "server.address": "api.anthropic.com",
      "server.port": 443,
    },
  };
}

/** So many hexadecimal digits that follow from a name. */
function hexOf(name: string, digits: number): string {
  return Buffer.from(name).toString("hex").padEnd(digits, "0").slice(-digits);
}
