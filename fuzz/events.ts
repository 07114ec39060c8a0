import { PlimsollEvent } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { z } from "zod";
import { anyEvent } from "../server/testing/any-events.ts";
import type { Random } from "./random.ts";
import { drawValue, type Hints, type JsonSchema } from "./schema-values.ts";

const SCHEMAS = z.toJSONSchema(PlimsollEvent, { io: "input", unrepresentable: "any" }).oneOf as JsonSchema[];

/** Few, so that events of different inputs meet in one agent, session and model. */
export const NAMES = [
  "main",
  "scout",
  "s1",
  "s2",
  "s3",
  "h",
  "phantom@fuzz",
  "claude-sonnet-4-5",
  "model-a",
  "nobody-knows-1",
  "warning",
  "é ü 漢字",
];

export const hintsAt = (now: number, ids: readonly string[] = []): Hints => ({ now, names: NAMES, ids });

/** Makes valid events: half from the histories that the tests fold, half of any type from its schema. */
export function eventMaker(seed: number, hints: Hints): (random: Random) => unknown {
  const pool: unknown[] = fc.sample(anyEvent, { seed, numRuns: 500 });
  return (random) =>
    random.oneIn(2) ? random.pick(pool) : drawValue(random, random.pick(SCHEMAS), hints, "event");
}
