import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readRecord } from "../../telemetry.ts";
import { foldEvents } from "../../testing/fold.ts";
import { SAMPLE_AT, type SampleAttributes, spanSample } from "../../testing/otlp.ts";

interface Call {
  input: number;
  output: number;
}

const genAi = ({ input, output }: Call): SampleAttributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-opus-5",
  "gen_ai.usage.input_tokens": input,
  "gen_ai.usage.output_tokens": output,
});

/** How each library reports a call, with its scope. No id of the answer: with one, both are one turn anyway. */
const LAYERS: Record<
  string,
  readonly (readonly [scope: string, attributes: (call: Call) => SampleAttributes])[]
> = {
  framework: [
    ["anthropic", genAi],
    ["ai", (call) => ({ "ai.operationId": "ai.generateText.doGenerate", ...genAi(call) })],
    ["pydantic-ai", genAi],
  ],
  instrumentation: [
    ["@traceloop/instrumentation-anthropic", genAi],
    ["opentelemetry.instrumentation.anthropic", (call) => ({ "llm.request.type": "chat", ...genAi(call) })],
    ["openlit.otel.tracing", genAi],
    ["opentelemetry.instrumentation.openai_v2", genAi],
  ],
  openinference: [
    [
      "@arizeai/openinference-instrumentation-anthropic",
      ({ input, output }) => ({
        "openinference.span.kind": "LLM",
        "llm.model_name": "claude-opus-5",
        "llm.token_count.prompt": input,
        "llm.token_count.completion": output,
      }),
    ],
  ],
};
const LIBRARIES = Object.entries(LAYERS).flatMap(([layer, all]) =>
  all.map((library) => ({ layer, library })),
);
const PAIRS = LIBRARIES.flatMap((one) =>
  LIBRARIES.filter(({ layer }) => layer > one.layer).map((other) => [one, other]),
);

it("a trace through two libraries has the turns of one, whichever two", () => {
  const calls = fc.array(
    fc.record({
      input: fc.integer({ min: 1, max: 5 }).map((step) => step * 10_000),
      output: fc.integer({ min: 1, max: 3 }),
      pause: fc.constantFrom(1_500, 30_000),
    }),
    { minLength: 1, maxLength: 8 },
  );
  fc.assert(
    fc.property(fc.constantFrom(...PAIRS), calls, fc.integer({ min: -400, max: 400 }), (pair, made, skew) => {
      let endAt = SAMPLE_AT;
      const events: PlimsollEventInput[][] = [[], []];
      for (const [index, call] of made.entries()) {
        endAt += call.pause;
        for (const [place, { library }] of pair.entries()) {
          const [scope, attributes] = library;
          const span = {
            scope,
            attributes: attributes(call),
            endAt: endAt + place * skew,
            spanId: `${place}${index}`,
          };
          const resource = { "service.name": "bot" };
          events[place]!.push(...(readRecord(spanSample({ ...span, resource })).reading.events ?? []));
        }
      }
      const [one, both] = [events[0]!, events.flat()].map((all) => [...foldEvents(all).values()]);
      expect(both!.length).toBe(1);
      expect(both![0]!.summary.turns).toBe(made.length);
      expect(one![0]!.summary.turns).toBe(made.length);
      expect(both![0]!.summary.peak).toMatchObject({ tokens: one![0]!.summary.peak!.tokens });
    }),
    { numRuns: 400 },
  );
});
