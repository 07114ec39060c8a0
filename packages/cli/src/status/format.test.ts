import type { FleetAgent } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { linesOf } from "../scroll.ts";
import { columns, painter } from "../terminal.ts";
import { fleetAgent, fleetStatus, fleetView, NOW, totals } from "../testing/fleet.ts";
import { bar } from "./bar.ts";
import { stateOf, statusText, type TableLayout } from "./format.ts";

const statusLines = (...given: Parameters<typeof statusText>) => linesOf(statusText(...given));
const rowsOf = (agents: FleetAgent[], given: TableLayout) =>
  statusText(fleetStatus(), fleetView(agents), given).rows;
const layout = (width: number, color = false) => ({ width, paint: painter(color), now: NOW });

describe("bar", () => {
  const lineAt = (tokens: number) => ({ threshold: "hard", tokens, kind: "hard", source: "policy" }) as const;

  it("draws the line at the same place and one load alike, whatever the line and the window", () => {
    for (const tokens of [8_000, 200_000]) {
      const drawn = bar(
        fleetAgent({ context_tokens: tokens / 2, window_tokens: null, thresholds: [], line: lineAt(tokens) }),
        20,
      );
      expect(drawn).toBe("███████▏······┃░░░░░");
    }
  });

  it("draws the level, the thresholds, the line, and the window's end past it", () => {
    expect(bar(fleetAgent(), 20)).toBe("██████████│██▊┃░░░░┤");
    expect(bar(fleetAgent({ context_tokens: 100_000 }), 20)).toBe("███████▏··│···┃░░░░┤");
    const near = { context_tokens: 171_000, window_tokens: 200_000, thresholds: [], line: lineAt(167_000) };
    expect(bar(fleetAgent(near), 20)).toBe("██████████████┃░┤   ");
  });

  it("draws a level far past its line within the bar", () => {
    const drawn = bar(fleetAgent({ context_tokens: 900_000 }), 20);
    expect(columns(drawn)).toBe(20);
    expect(drawn).toBe("██████████│███┃████┤");
  });

  it("takes the window's end as the line of an agent without one, and is empty without both", () => {
    expect(bar(fleetAgent({ line: null, window_tokens: null, thresholds: [] }), 10)).toBe(" ".repeat(10));
    expect(bar(fleetAgent({ line: null, thresholds: [], context_tokens: 500_000 }), 10)).toBe("███▌···┃  ");
  });
});

describe("statusLines", () => {
  it("shows totals compared with the previous period and one line per agent", () => {
    const text = statusLines(fleetStatus(), fleetView(), layout(140)).join("\n");
    expect(text).toContain("2 live agents in 2 sessions of 1 harness");
    expect(text).toContain("highest load 96.0% of its line: refactor billing webhooks (main)");
    expect(text).toContain("peak 21.4% (was 18.3%)");
    expect(text).toContain("sub-ticks 14 (-6)");
    expect(text).toContain("restarts 3 (+1)");
    expect(text).toMatch(
      /refactor billing…, tick 4\.2 .*┃.* 96% +192,000 +4 turns, 6 min +past warning +19\.2% of 1M reported +18 s ago/,
    );
  });

  it("shows no change if the previous period has no events", () => {
    const first = fleetStatus({ previous: totals({ turns: 0, peak_utilization: null, restarts: 0 }) });
    const text = statusLines(first, fleetView(), layout(140)).join("\n");
    expect(text).toContain("no events in the previous period:");
    expect(text).toContain("restarts 3 |");
    expect(text).not.toMatch(/\([+=-]|\(was/);
  });

  it.each([40, 60, 80, 100, 120, 200])("fits %i columns", (width) => {
    const wide = fleetAgent({ title: "正在重构计费网络钩子以及很多其他的东西 🚢🚢🚢" });
    const lines = statusLines(fleetStatus(), fleetView([fleetAgent(), wide]), layout(width));
    const rows = lines.slice(lines.findIndex((line) => line.startsWith("agent")));
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(columns(row)).toBeLessThanOrEqual(width);
    expect(rows[1]).toContain("96%");
    expect(rows[1]).toContain("192,000");
  });

  it("prints the same text without color", () => {
    const draw = (color: boolean) => statusLines(fleetStatus(), fleetView(), layout(120, color)).join("\n");
    expect(draw(true)).not.toBe(draw(false));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex removes escape sequences
    expect(draw(true).replace(/\u001b\[\d+m/g, "")).toBe(draw(false));
  });

  it("shows tokens without a percentage for an unknown window size", () => {
    const unknown = fleetAgent({
      window_tokens: null,
      window_source: "unknown",
      utilization: null,
      line: null,
      load: null,
      thresholds: [],
      forecast: { ...fleetAgent().forecast, reason: "no_line", turns: null, growth: null, minutes: null },
    });
    const row = statusLines(fleetStatus(), fleetView([unknown]), layout(140)).at(-1)!;
    expect(row).toContain("192,000");
    expect(row).toContain("size unknown");
    expect(row).not.toContain("%");
  });

  it("marks a level above the window size as suspect without clamping it", () => {
    const over = fleetAgent({
      context_tokens: 5_115,
      window_tokens: 2_000,
      utilization: 2.5575,
      window_suspect: true,
      line: { threshold: "ceiling", tokens: 400, kind: "ceiling", source: "policy" },
      load: 12.79,
      forecast: { ...fleetAgent().forecast, reason: "over", turns: null, growth: null, minutes: null },
    });
    const row = statusLines(fleetStatus(), fleetView([over]), layout(140)).at(-1)!;
    expect(row).toContain("window suspect");
    expect(row).toContain("256% of 2k");
    expect(row).toContain("1279%");
  });

  it("cuts the title before the agent name", () => {
    const sub = fleetAgent({ name: "phase-runner 20b", place: null });
    const row = statusLines(fleetStatus(), fleetView([sub]), layout(150)).at(-1)!;
    expect(row).toMatch(/^re.*… \/ phase-runner 20b /);
    expect(statusLines(fleetStatus(), fleetView([sub]), layout(100)).at(-1)).toMatch(/^phase-runner/);
  });

  it("shows the way to the line at 80 columns", () => {
    const forecast = (given: Partial<FleetAgent["forecast"]>) => [
      fleetAgent({ forecast: { ...fleetAgent().forecast, ...given } }),
    ];
    expect(rowsOf(forecast({}), layout(80))[0]).toMatch(/ 96% +192,000 +4 turns, 6 min +past warning$/);
    expect(rowsOf(forecast({ turns: 61, minutes: 95 }), layout(80))[0]).toContain(" 60+ turns ");
    expect(rowsOf(forecast({ turns: 60, minutes: 89.4 }), layout(80))[0]).toContain(" 60 turns, 89 min ");
    expect(rowsOf(forecast({ turns: 60, minutes: 1_000 }), layout(80))[0]).toContain(" 60 turns, 17 h ");
    expect(rowsOf(forecast({ turns: 1, minutes: 0.2 }), layout(80))[0]).toContain(" 1 turn, <1 min ");
    const over = forecast({ reason: "over", turns: null, minutes: null, end_turns: 12 });
    expect(rowsOf(over, layout(80))[0]).toContain(" end in 12 turns ");
  });

  it.each([
    ["the same beginning", (at: number) => `Migrate the user table of tenant ${at}`],
    [
      "the same beginning and end",
      (at: number) => `Migrate the user table of tenant ${at} and send a report`,
    ],
    ["the same name", () => "Migrate the user table of all tenants"],
    ["wide characters", (at: number) => `正在重构计费网络钩子以及很多其他的东西 ${at}`],
    ["short names", () => "x"],
  ])("tells agents apart whose titles have %s", (_, titleOf) => {
    const agents = Array.from({ length: 60 }, (_, at) =>
      fleetAgent({
        id: `0199aaaa-0000-7000-8000-0000000${(at * 7_919 + 10_000).toString(16).padStart(5, "0")}`,
        title: titleOf(at),
        place: null,
      }),
    );
    for (const width of [60, 80, 120]) {
      const names = rowsOf(agents, layout(width)).map((row) => row.split(/ +\S*[█·┃]/u)[0]);
      expect(new Set(names).size).toBe(agents.length);
      for (const row of rowsOf(agents, layout(width))) expect(columns(row)).toBeLessThanOrEqual(width);
    }
  });

  it("shows the state as text", () => {
    expect(stateOf(fleetAgent({ load: 1.2, context_tokens: 240_000 }))).toBe("past line");
    expect(stateOf(fleetAgent({ load: 0.2, context_tokens: 40_000 }))).toBeUndefined();
  });

  it("removes control characters from a title", () => {
    const evil = fleetAgent({ title: "\u001b[2J\u202eowned\n" });
    const row = statusLines(fleetStatus(), fleetView([evil]), layout(120)).at(-1)!;
    expect(row).toContain("[2J\\u202eowned");
    expect(row).not.toContain("\u001b");
    expect(row).not.toContain("\u202e");
  });

  it("handles a server without events and a fleet without live agents", () => {
    expect(statusLines(fleetStatus({ has_events: false }), fleetView([]), layout(80)).join("\n")).toContain(
      "plimsoll import",
    );
    const quiet = fleetStatus({
      highest_load: null,
      current: null,
      totals: totals({ peak_utilization: null }),
    });
    const text = statusLines(quiet, fleetView([]), layout(80)).join("\n");
    expect(text).toContain("No live agents.");
    expect(text).toContain("peak - (was 18.3%)");
  });
});
