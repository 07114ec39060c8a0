import type { FleetAgent, FleetStatus, FleetView } from "@plimsoll/protocol/api";
import { sortFleet } from "@plimsoll/protocol/pure";
import { ago, number, percent, plural, tokens } from "../number-format.ts";
import type { ScreenText } from "../scroll.ts";
import { columns, fitColumns, fitEnds, type Paint, printable } from "../terminal.ts";
import { bar } from "./bar.ts";

export interface TableLayout {
  width: number;
  paint: Paint;
  /** Current time in epoch ms. */
  now: number;
}

/** Totals compared with the previous period, then one row per live agent. */
export function statusText(status: FleetStatus, fleet: FleetView, layout: TableLayout): ScreenText {
  if (!status.has_events) {
    return {
      summary: [],
      head: layout.paint("bold", "No events yet."),
      rows: ["Send an event, or import recordings: npx plimsoll import ~/.claude/projects"],
    };
  }
  return { summary: totalLines(status, layout), ...agentTable(fleet, layout) };
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

/** Columns of the shortest bar. */
const BAR = 8;

function agentTable(fleet: FleetView, layout: TableLayout): Omit<ScreenText, "summary"> {
  if (fleet.agents.length === 0) return { head: "No live agents.", rows: [] };
  const shown = fittingColumns(layout.width);
  const used = shown.reduce((sum, column) => sum + column.width + 2, 0);
  // The name gets the remaining width first, because a short bar is still readable.
  const room = Math.max(8, layout.width - used);
  const nameWidth =
    room < 36 ? Math.max(8, room - BAR - 2) : Math.min(44, Math.max(26, Math.floor(room * 0.55)));
  const barWidth = Math.min(40, Math.max(0, room - nameWidth - 2));
  const head = [
    fitColumns("agent", nameWidth),
    ...(barWidth >= BAR ? [fitColumns("level", barWidth)] : []),
    ...shown.map((column) => fitColumns(column.head, column.width, column.align)),
  ].join("  ");
  const agents = sortFleet(fleet.agents, "line", layout.now);
  const names = nameCells(agents, nameWidth);
  const rows = agents.map((agent, at) => {
    const state = stateOf(agent);
    const color = state === undefined ? undefined : state === "past line" ? "red" : "yellow";
    const drawn = bar(agent, barWidth);
    const cells = [
      names[at]!,
      ...(barWidth >= BAR ? [color === undefined ? drawn : layout.paint(color, drawn)] : []),
      ...shown.map((column) => fitColumns(column.cell(agent, layout), column.width, column.align)),
    ];
    return cells.join("  ").trimEnd();
  });
  if (fleet.more > 0) rows.push(layout.paint("dim", `and ${plural(fleet.more, "more agent")}`));
  return { head: layout.paint("dim", head.trimEnd()), rows };
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
  { head: "to line", width: 16, align: "left", cell: forecastCell },
  { head: "state", width: 14, align: "left", cell: (agent) => stateOf(agent) ?? "" },
  { head: "of window", width: 24, align: "left", cell: windowCell },
  {
    head: "last turn",
    width: 10,
    align: "left",
    cell: (agent, layout) => ago(layout.now - Date.parse(agent.last_at)),
  },
];

function fittingColumns(width: number): Column[] {
  const shown: Column[] = [];
  let used = 18 + BAR + 2;
  for (const column of COLUMNS) {
    used += column.width + 2;
    if (used > width && shown.length >= 2) break;
    shown.push(column);
  }
  return shown;
}

/**
 * Names of agents that fit a column and differ. Where the beginnings are the same, the middle is left out; where the whole is, a
 * part of the id follows.
 */
export function nameCells(agents: readonly FleetAgent[], width: number): string[] {
  const cells = agents.map((agent) => nameCell(agent, width));
  const longer = [
    (agent: FleetAgent) => fitEnds(fullName(agent), width),
    ...[4, 8, 12].map((length) => (agent: FleetAgent) => {
      const id = agent.id.slice(-Math.min(length, width));
      return `${fitColumns(fullName(agent), width - id.length - 1)} ${id}`.slice(-width);
    }),
  ];
  for (const nameOf of longer) {
    const counts = new Map<string, number>();
    for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
    for (const [at, agent] of agents.entries()) {
      if (counts.get(cells[at]!)! > 1) cells[at] = nameOf(agent);
    }
  }
  return cells;
}

function nameParts(agent: FleetAgent): { title: string; name: string; place: string } {
  return {
    title: printable(agent.title ?? agent.session),
    name: agent.name === "main" ? "" : printable(` / ${agent.name}`),
    place: agent.place === null ? "" : printable(`, ${agent.place}`),
  };
}

function fullName(agent: FleetAgent): string {
  const { title, name, place } = nameParts(agent);
  return `${title}${name}${place}`;
}

/** In a narrow column, the title is cut before the agent name. */
function nameCell(agent: FleetAgent, width: number): string {
  const { title, name, place } = nameParts(agent);
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

/** Turns and time to the line, "4 turns, 6 min", and beyond it the turns to the end of the window. */
function forecastCell({ forecast }: FleetAgent): string {
  switch (forecast.reason) {
    case "rising": {
      const { turns, minutes } = forecast;
      if (turns === null) return "rising";
      // The minutes of more turns are too uncertain to show.
      if (minutes === null || turns > 60) return turnsText(turns);
      return `${turnsText(turns)}, ${minutesText(minutes)}`;
    }
    case "over":
      return forecast.end_turns === null ? "past" : `end in ${turnsText(forecast.end_turns)}`;
    case "steady":
      return "steady";
    case "no_trend":
      return "no trend";
    case "no_line":
      return "-";
  }
}

const turnsText = (turns: number) => (turns > 60 ? "60+ turns" : plural(turns, "turn"));

function minutesText(minutes: number): string {
  if (minutes < 1) return "<1 min";
  if (minutes < 90) return `${Math.round(minutes)} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} d`;
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
