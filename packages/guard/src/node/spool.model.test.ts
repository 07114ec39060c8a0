import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Spool } from "../report/options.ts";
import { fileSpool } from "./spool.ts";

/** Added lines that are not acknowledged yet, in order. */
interface Model {
  waiting: string[];
  next: number;
}

interface Real {
  folder: string;
  spool: Spool;
  clock: () => number;
}

type Command = fc.AsyncCommand<Model, Real>;
const open = (real: Omit<Real, "spool">) => fileSpool(real.folder, { segmentBytes: 120, clock: real.clock });

const add = (count: number): Command => ({
  check: () => true,
  async run(model, real) {
    const lines = Array.from({ length: count }, () => JSON.stringify({ id: model.next++ }));
    expect(await real.spool.add(lines)).toBe(0);
    model.waiting.push(...lines);
  },
  toString: () => `add ${count}`,
});

const take = (acknowledged: boolean): Command => ({
  check: () => true,
  async run(model, real) {
    const taken = await real.spool.next(1e9, 1e9);
    // The oldest lines come first; none is missing or repeated.
    expect(taken?.lines ?? []).toEqual(model.waiting.slice(0, taken?.lines.length ?? 0));
    expect(taken === undefined).toBe(model.waiting.length === 0);
    if (!acknowledged || taken === undefined) return;
    await taken.done();
    model.waiting.splice(0, taken.lines.length);
  },
  toString: () => (acknowledged ? "take and acknowledge" : "take without acknowledging"),
});

const crash = (): Command => ({
  check: () => true,
  async run(_, real) {
    real.spool = open(real);
  },
  toString: () => "crash and start again",
});

it("a spool behaves like a durable list", async () => {
  const commands = fc.commands(
    [fc.integer({ min: 1, max: 12 }).map(add), fc.boolean().map(take), fc.constant(crash())],
    { maxCommands: 30 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (script) => {
      const folder = await mkdtemp(join(tmpdir(), "guard-spool-"));
      let now = Date.UTC(2026, 10, 20);
      const clock = () => now++;
      try {
        const real = { folder, clock, spool: open({ folder, clock }) };
        await fc.asyncModelRun(() => ({ model: { waiting: [], next: 0 }, real }), script);
      } finally {
        await rm(folder, { recursive: true });
      }
    }),
    { numRuns: 60 },
  );
});
