import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { contextTokens } from "@plimsoll/fold";
import { readRecord } from "@plimsoll/harnesses/telemetry";
import { parseEvent } from "@plimsoll/protocol/events";
import { expect, it } from "vitest";
import { BODY_LIMITS, BodyBudget } from "../server/bodies/body-budget.ts";
import { decodeProtobuf } from "../server/write/receive/otlp/decode-protobuf.ts";
import { otlpBody } from "./otlp-body.ts";
import { eventsOf } from "./traffic.ts";

/** What must be alike in a turn, whichever way it was sent. */
function factsOf(value: unknown): object {
  const parsed = parseEvent(value);
  if (!parsed.ok || parsed.event.type !== "turn") throw new Error("not a turn");
  const { id, at, session, agent, model, cost_usd, usage } = parsed.event;
  return {
    id,
    at,
    session,
    agent,
    model,
    cost_usd,
    tokens: contextTokens(usage),
    output: usage.output_tokens,
  };
}

it("makes spans that become the same turns as the JSON events", () => {
  const shape = {
    connections: 2,
    sessions: 6,
    turns: 2_000,
    spacing: 5_000,
    sessionTurns: 0,
    end: 1.7e12,
    seed: 7,
  };
  const { next } = eventsOf(shape, { turnsOnly: true });
  const events = Array.from({ length: 400 }, () => next(0));
  const records = [...decodeProtobuf(otlpBody(events), "traces", new BodyBudget({ take() {}, give() {} }))];
  const turns = records.flatMap((record) =>
    record === undefined || "unreadable" in record ? [] : (readRecord(record).reading.events ?? []),
  );
  expect(turns.map(factsOf)).toEqual(events.map((event) => factsOf(JSON.parse(event))));
  expect(new Set(turns.map(({ harness }) => harness))).toEqual(new Set(["fleet@vm-0"]));
});

it("makes bodies that expand far less than a body may, however large and repetitive they are", () => {
  const shape = {
    connections: 1,
    sessions: 6,
    turns: 4_000,
    spacing: 5_000,
    sessionTurns: 0,
    end: 1.7e12,
    seed: 7,
  };
  const { next } = eventsOf(shape, { turnsOnly: true });
  const events = Array.from({ length: 2_000 }, () => next(0));
  const ID = /"id":"[^"]*"/;
  // Nothing but the id tells these turns apart.
  const alike = events.map((event) => events[0]!.replace(ID, ID.exec(event)![0]));
  for (const list of [events, alike, events.slice(0, 1)])
    for (const body of [Buffer.from(`[${list.join()}]`), otlpBody(list)])
      for (const compressed of [
        gzipSync(body, { level: 9 }),
        // Its highest quality takes seconds for a tenth less.
        brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
      ])
        expect(body.length / compressed.length).toBeLessThan(BODY_LIMITS.expansion / 5);
});
