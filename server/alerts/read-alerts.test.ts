import { AlertsQuery } from "@plimsoll/protocol/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { readTurns } from "../read/turns.ts";
import { type TestAlerts, testAlerts } from "../testing/alerts.ts";
import { readAlerts } from "./read-alerts.ts";

let alerts: TestAlerts;
beforeEach(async () => {
  alerts = await testAlerts();
});
afterEach(() => alerts.close());

let serial = 0;
/** A turn in a window of 10,000 tokens, whose ceiling is at 2,000. */
function turn(session: string, tokens: number, more: object = {}) {
  serial += 1;
  return {
    id: `t${serial}`,
    type: "turn",
    at: Date.now() - 100_000 + serial,
    harness: "phantom@one",
    session,
    model: "m",
    context_window: 10_000,
    usage: { input_tokens: tokens },
    ...more,
  };
}

const reader = () => ({
  prisma: alerts.ingest.prisma,
  projectId: 1,
  policy: PolicyBook.empty,
  now: Date.now(),
});

describe("a list of alerts", () => {
  it("has what is searched for, and says how many there are", async () => {
    const { id: large } = await alerts.rule({
      name: "Large",
      condition: { type: "tokens", at_least: 2_000 },
    });
    await alerts.rule({ name: "Full", condition: { type: "tokens", at_least: 3_000 }, severity: "critical" });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    const at = (harness: string) => ({ harness: `coder@${harness}` });
    await alerts.pipeline.send(
      turn("billing", 2_500, at("VM-1")),
      turn("100%_done", 3_500, at("vm-2")),
      turn("billing", 1_000, at("vm-3")),
    );
    await evaluator.evaluate();
    const read = async (query: object) => {
      const { items, selected, firing } = await readAlerts(reader(), AlertsQuery.parse(query));
      expect(firing).toBe(3);
      expect(selected).toBeGreaterThanOrEqual(items.length);
      return { selected, items: items.map(({ rule, subject }) => `${rule.name} ${subject.session}`) };
    };
    const all = ["Full 100%_done", "Large 100%_done", "Large billing"];
    const found = async (query: object) => (await read(query)).items.sort();
    expect(await found({})).toEqual(all);
    expect(await read({ limit: 1 })).toEqual({ selected: 3, items: ["Full 100%_done"] });
    expect(await found({ severity: "critical" })).toEqual(["Full 100%_done"]);
    expect(await found({ q: "vm-1" })).toEqual(["Large billing"]);
    expect(await found({ q: "%_" })).toEqual(all.slice(0, 2));
    expect(await found({ q: "fULL" })).toEqual(["Full 100%_done"]);
    expect(await found({ q: "nobody" })).toEqual([]);
    expect(await found({ q: "billing", severity: "critical" })).toEqual([]);
    // Of one agent's levels, the more severe alert mutes the other.
    expect(await found({ state: "muted" })).toEqual(["Large 100%_done"]);
    expect(await found({ state: "unhandled" })).toEqual(["Full 100%_done", "Large billing"]);
    await alerts.ingest.prisma.alert.updateMany({
      where: { ruleId: large },
      data: { acknowledgedAt: new Date(), acknowledgedBy: "Ada" },
    });
    expect(await found({ state: "acknowledged" })).toEqual(["Large 100%_done", "Large billing"]);
    expect(await found({ state: "unhandled" })).toEqual(["Full 100%_done"]);

    await alerts.pipeline.send(turn("billing", 100, at("VM-1")), turn("100%_done", 100, at("vm-2")));
    await evaluator.evaluate();
    const ended = async (query: object) => {
      const page = await readAlerts(reader(), AlertsQuery.parse({ ...query, state: "ended" }));
      return page.items.map(({ rule, subject }) => `${rule.name} ${subject.session}`).sort();
    };
    expect(await ended({})).toEqual(all);
    expect(await ended({ severity: "critical" })).toEqual(["Full 100%_done"]);
    expect(await ended({ q: "VM-1" })).toEqual(["Large billing"]);
    expect(await ended({ q: "%_", severity: "warning" })).toEqual(["Large 100%_done"]);
  });
});

describe("the alerts of a session", () => {
  it("are its own, open and ended, on pages of any length", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    for (const session of ["a", "b", "a", "a"]) {
      await alerts.pipeline.send(turn(session, 3_000));
      await evaluator.evaluate();
      await alerts.pipeline.send(turn(session, 1_000));
      await evaluator.evaluate();
    }
    await alerts.pipeline.send(turn("a", 4_000), turn("b", 4_000), turn("c", 1_000));
    await evaluator.evaluate();
    const rows = await alerts.ingest.prisma.session.findMany({ orderBy: { name: "asc" } });
    const [a, b, c] = rows.map(({ id }) => id);
    const read = (query: object) => readAlerts(reader(), AlertsQuery.parse(query));

    expect((await read({ session: a })).items.map(({ subject }) => subject.session)).toEqual(["a"]);
    expect((await read({ session: c })).items).toEqual([]);
    const whole = await read({ session: a, state: "ended" });
    expect(whole.items.map(({ session_id, end_reason }) => [session_id, end_reason])).toEqual(
      [1, 2, 3].map(() => [a, "below"]),
    );
    const first = await read({ session: a, state: "ended", limit: 2 });
    const second = await read({ session: a, state: "ended", limit: 2, cursor: first.next_cursor! });
    expect([...first.items, ...second.items]).toEqual(whole.items);
    expect(second.next_cursor).toBeNull();
    expect((await read({ session: b, state: "ended" })).items).toHaveLength(1);
    expect((await read({ state: "ended" })).items).toHaveLength(4);
  });

  it("link to the turn that they are about, also after late and repeated turns", async () => {
    await alerts.rule({ condition: { type: "threshold", threshold: "ceiling" } });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    const [before, crossing] = [turn("s", 1_000), turn("s", 2_500)];
    await alerts.pipeline.send(before, crossing);
    await evaluator.evaluate();
    const late = turn("s", 900, { at: crossing.at - 50_000 });
    await alerts.pipeline.send(late, crossing, turn("s", 2_600), turn("s", 2_700));
    await evaluator.evaluate();

    const { items } = await readAlerts(reader(), AlertsQuery.parse({}));
    const link = new URL(items[0]!.path, "http://host");
    const id = link.pathname.replace("/sessions/", "");
    const { agent, turn: key } = Object.fromEntries(link.searchParams);
    const page = await readTurns(reader(), { id, agent_id: agent!, turn: key!, limit: 100 });
    expect(page.items.find((item) => item.key === key)).toMatchObject({ number: 3, context_tokens: 2_500 });
  });
});
