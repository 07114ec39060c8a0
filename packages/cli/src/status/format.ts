import type { FleetAgent, FleetStatus, FleetView } from "@plimsoll/protocol/api";
import { ago, number, percent, plural, tokens } from "../number-format.ts";
import { columns, fitColumns, type Paint, printable } from "../terminal.ts";
import { bar } from "./bar.ts";

export interface TableLayout {
  width: number;
  paint: Paint;
  /** Current time in epoch ms. */
  now: number;
}

/** Returns the status as lines: totals compared with the previous period, then one line per live agent. */
export function statusLines(status: FleetStatus, fleet: FleetView, layout: TableLayout): string[] {
  const { paint } = layout;
  if (!status.has_events) {
    return [
      paint("bold", "No events yet."),
      "Send an event, or import recordings: npx plimsoll import ~/.claude/projects",
    ];
  }
  return [...totalLines(status, layout), "", ...agentLines(fleet, layout)];
}

function totalLines(status: FleetStatus, layout: TableLayout): string[] {
  const { paint, width } = layout;
  const { live, totals, previous, highest_load: highest, current } = status;
  const lines = [
    `${paint("bold", plural(live.agents, "live agent"))} in ${plural(live.sessions, "session")} of ${plural(live.harnesses, "harness", "harnesses")}` +
      (highest === null
        ? ""
        : `  |  highest load ${paint("bold", percent(highest.load))} of its line: ${printable(highest.title)} (${printable(highest.agent)})`),
  ];
  if (current?.context_tokens !== undefined && current.context_tokens !== null) {
    lines.push(
      `current: ${number(current.context_tokens)} tokens${current.utilization === null ? "" : `, ${percent(current.utilization)} of ${tokens(current.window_tokens!)}`}: ${printable(current.title)} (${printable(current.agent)})`,
    );
  }
  const peak = totals.peak_utilization === null ? "-" : percent(totals.peak_utilization);
  const peakWas = previous.peak_utilization === null ? "none" : percent(previous.peak_utilization);
  // Without turns in the previous period there is nothing to compare with.
  const compared = previous.turns > 0;
  const comparison = (text: string) => (compared ? ` (${text})` : "");
  lines.push(
    "",
    `${paint("bold", span(status))}${compared ? ", compared with the previous period:" : "; no events in the previous period:"}`,
  );
  lines.push(
    ...wrap(
      [
        `peak ${peak}${comparison(`was ${peakWas}`)}`,
        ...(
          [
            ["sub-ticks", "subticks"],
            ["sessions past warning", "sessions_past_warning"],
            ["masked", "masked"],
            ["compacted", "compacted"],
            ["restarts", "restarts"],
            ["cleared", "cleared"],
            ["unexplained", "unexplained"],
            ["sessions", "sessions"],
            ["turns", "turns"],
          ] as const
        ).map(
          ([name, field]) =>
            `${name} ${number(totals[field])}${comparison(change(totals[field], previous[field]))}`,
        ),
        `reclaimed ${tokens(totals.reclaimed_tokens)} tokens${comparison(`was ${tokens(previous.reclaimed_tokens)}`)}`,
      ],
      width,
    ),
  );
  return lines;
}

function span(status: FleetStatus): string {
  const hours = Math.round((Date.parse(status.range.to) - Date.parse(status.range.from)) / 3_600_000);
  return hours < 48 ? `Last ${hours} h` : `Last ${Math.round(hours / 24)} days`;
}

function change(now: number, before: number): string {
  const difference = now - before;
  return difference === 0 ? "=" : difference > 0 ? `+${number(difference)}` : `-${number(-difference)}`;
}

function wrap(parts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && columns(last) + columns(part) + 3 <= width - 2) {
      lines[lines.length - 1] = `${last} | ${part}`;
    } else {
      lines.push(part);
    }
  }
  return lines.map((line) => `  ${line}`);
}

interface Column {
  head: string;
  width: number;
  align: "left" | "right";
  cell: (agent: FleetAgent, layout: TableLayout) => string;
}

function agentLines(fleet: FleetView, layout: TableLayout): string[] {
  if (fleet.agents.length === 0) return ["No live agents."];
  const shown = fittingColumns(layout.width);
  const used = shown.reduce((sum, column) => sum + column.width + 2, 0);
  // The name gets the remaining width first, because a short bar is still readable.
  const room = Math.max(8, layout.width - used);
  const nameWidth = room < 24 ? Math.max(8, room - 10) : Math.min(44, Math.max(14, Math.floor(room * 0.55)));
  const barWidth = Math.min(40, Math.max(0, room - nameWidth - 2));
  const head = [
    fitColumns("agent", nameWidth),
    ...(barWidth >= 8 ? [fitColumns("level", barWidth)] : []),
    ...shown.map((column) => fitColumns(column.head, column.width, column.align)),
  ].join("  ");
  const lines = [layout.paint("dim", head.trimEnd())];
  for (const agent of fleet.agents) {
    const state = stateOf(agent);
    const color = state === undefined ? undefined : state === "past line" ? "red" : "yellow";
    const drawn = bar(agent, barWidth);
    const cells = [
      nameCell(agent, nameWidth),
      ...(barWidth >= 8 ? [color === undefined ? drawn : layout.paint(color, drawn)] : []),
      ...shown.map((column) => fitColumns(column.cell(agent, layout), column.width, column.align)),
    ];
    lines.push(cells.join("  ").trimEnd());
  }
  if (fleet.more > 0) lines.push(layout.paint("dim", `and ${plural(fleet.more, "more agent")}`));
  return lines;
}

/** Columns by priority: a narrow terminal drops them from the end. */
const COLUMNS: readonly Column[] = [
  {
    head: "load",
    width: 5,
    align: "right",
    cell: (agent) => (agent.load === null ? "-" : percent0(agent.load)),
  },
  { head: "context", width: 9, align: "right", cell: contextCell },
  { head: "state", width: 14, align: "left", cell: (agent) => stateOf(agent) ?? "" },
  { head: "of window", width: 24, align: "left", cell: windowCell },
  { head: "to line", width: 11, align: "left", cell: forecastCell },
  {
    head: "last turn",
    width: 10,
    align: "left",
    cell: (agent, layout) => ago(layout.now - Date.parse(agent.last_at)),
  },
];

function fittingColumns(width: number): Column[] {
  const shown: Column[] = [];
  let used = 30;
  for (const column of COLUMNS) {
    used += column.width + 2;
    if (used > width && shown.length >= 2) break;
    shown.push(column);
  }
  return shown;
}

/** In a narrow column, the title is cut before the agent name. */
function nameCell(agent: FleetAgent, width: number): string {
  const title = printable(agent.title ?? agent.session);
  const name = agent.name === "main" ? "" : ` / ${agent.name}`;
  const place = agent.place === null ? "" : `, ${agent.place}`;
  const tail = [name + place, name].find((text) => width - columns(text) >= Math.min(12, columns(title)));
  if (tail === undefined) return fitColumns(name === "" ? title : agent.name, width);
  const room = width - columns(tail);
  return fitColumns(`${fitColumns(title, Math.min(room, columns(title)))}${tail}`, width);
}

function percent0(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function contextCell(agent: FleetAgent): string {
  if (agent.context_tokens === null) return "unknown";
  // The level is from before a boundary, or later turns have no count.
  const stale = agent.after_boundary !== null || agent.uncounted_turns > 0 ? "~" : "";
  return `${stale}${number(agent.context_tokens)}`;
}

function windowCell(agent: FleetAgent): string {
  if (agent.window_tokens === null) return "size unknown";
  const of = `of ${tokens(agent.window_tokens)} ${agent.window_source}`;
  return agent.utilization === null ? of : `${percent(agent.utilization)} ${of}`;
}

function forecastCell({ forecast }: FleetAgent): string {
  switch (forecast.reason) {
    case "rising":
      return forecast.turns === null
        ? "rising"
        : forecast.turns > 60
          ? "60+ turns"
          : plural(forecast.turns, "turn");
    case "over":
      return "past";
    case "steady":
      return "steady";
    case "no_trend":
      return "no trend";
    case "no_line":
      return "-";
  }
}

/** The state as text, because color alone is not accessible and is lost in a pipe. */
export function stateOf(agent: FleetAgent): string | undefined {
  if (agent.window_suspect) return "window suspect";
  if (agent.context_tokens === null) return undefined;
  if (agent.load !== null && agent.load >= 1) return "past line";
  const passed = agent.thresholds
    .filter((threshold) => agent.context_tokens! >= threshold.tokens)
    .sort((a, b) => b.tokens - a.tokens)[0];
  return passed === undefined ? undefined : `past ${passed.name}`;
}
