import type { SessionSummary } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GLOSSARY } from "../glossary.ts";
import { demoSights, SIGHT_KINDS } from "./demo-sights.ts";

function session(fields: Partial<SessionSummary> & { id: string }): SessionSummary {
  return {
    session: fields.id,
    title: null,
    kind: "agent",
    harness: "workers@demo",
    machine: null,
    repository: null,
    branch: null,
    person: null,
    status: "ended",
    end_reason: "done",
    model: "qwen3:8b",
    context_tokens: 1_000,
    window_tokens: 32_768,
    utilization: 0.03,
    load: 0.03,
    peak_tokens: 1_000,
    peak_utilization: 0.03,
    turns: 1,
    agents: 1,
    windows: 1,
    masked: 0,
    compacted: 0,
    subticks: 0,
    restarts: 0,
    cleared: 0,
    unexplained: 0,
    reclaimed_tokens: 0,
    warnings: 0,
    prompt_tokens: 0,
    cached_tokens: 0,
    estimated_tokens: 0,
    cost_usd: null,
    cost_turns: 0,
    estimated_cost_usd: null,
    estimated_cost_turns: 0,
    first_at: "2026-11-24T10:00:00Z",
    last_at: "2026-11-24T10:01:00Z",
    tags: [],
    note_excerpt: null,
    ...fields,
  };
}

describe("what to look at in the demo", () => {
  it("is nothing before the demo has produced it", () => {
    expect(demoSights([])).toEqual([]);
    expect(demoSights([session({ id: "a" })])).toEqual([]);
  });

  it.each([
    ["nearest", { status: "live", load: 0.9 }, "/"],
    ["unexplained", { unexplained: 1 }, "/sessions/a"],
    ["suspect", { peak_utilization: 1.2 }, "/sessions/a"],
    ["compacted", { compacted: 1 }, "/sessions/a"],
    ["subtick", { subticks: 2 }, "/sessions/a"],
    ["masked", { masked: 3 }, "/sessions/a"],
    ["restarted", { restarts: 1 }, "/sessions/a"],
    ["agents", { agents: 4 }, "/sessions/a"],
  ] as const)("names %s as soon as a session shows it", (kind, fields, href) => {
    expect(demoSights([session({ id: "a", ...fields })])).toMatchObject([{ kind, href, title: "a" }]);
  });

  it("takes the session that shows it most, and a session of a real harness never", () => {
    const sights = demoSights([
      session({ id: "a", unexplained: 1 }),
      session({ id: "b", title: "worker-2", unexplained: 4 }),
      session({ id: "mine", harness: "mine@host", unexplained: 99 }),
    ]);
    expect(sights).toMatchObject([{ kind: "unexplained", href: "/sessions/b", title: "worker-2" }]);
  });

  it("does not call an agent with a wrong window the nearest to its line", () => {
    const wrong = session({ id: "a", status: "live", load: 2.5, peak_utilization: 2.5 });
    const near = session({ id: "b", status: "live", load: 0.8 });
    expect(demoSights([wrong, near]).find(({ kind }) => kind === "nearest")?.title).toBe("b");
  });

  it("lists each kind at most once, in one order, with a definition of its word", () => {
    const count = fc.integer({ min: 0, max: 9 });
    const any = fc.record({
      status: fc.constantFrom("live", "idle", "ended"),
      load: fc.option(fc.double({ min: 0, max: 3, noNaN: true })),
      peak_utilization: fc.option(fc.double({ min: 0, max: 3, noNaN: true })),
      agents: count,
      masked: count,
      compacted: count,
      subticks: count,
      restarts: count,
      unexplained: count,
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 12 }), (all) => {
        const sights = demoSights(
          all.map((fields, at) => session({ id: String(at), ...(fields as Partial<SessionSummary>) })),
        );
        const kinds = sights.map(({ kind }) => kind);
        expect(kinds).toEqual(SIGHT_KINDS.filter((kind) => kinds.includes(kind)));
        for (const { word } of sights) if (word !== undefined) expect(GLOSSARY[word]).toBeTruthy();
      }),
    );
  });
});
