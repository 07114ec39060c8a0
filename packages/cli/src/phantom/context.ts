import {
  type FleetStatus,
  FleetStatus as FleetStatusSchema,
  FleetView,
  SessionPage,
} from "@plimsoll/protocol/api";
import type { Client } from "../client.ts";
import { number, percent, tokens } from "../number-format.ts";

const RECENT_DAYS = 7;

/** The four context figures of a Phantom. Utilizations are fractions. */
export interface ContextFigures {
  /** The harness instances of this Phantom, or null if none was found and the figures are of the whole fleet. */
  harnesses: string[] | null;
  days: number;
  current: { context_tokens: number; window_tokens: number | null; utilization: number | null } | null;
  peak_utilization: number | null;
  subticks: number;
  sessions: number;
  sessions_past_warning: number;
}

/** Returns the instances named after the agent, else those named "phantom". */
export function phantomHarnesses(instances: readonly string[], agent: string | undefined): string[] {
  const distinct = [...new Set(instances)].sort();
  for (const name of [agent, "phantom"]) {
    if (!name) continue;
    const found = distinct.filter((instance) => instance.toLowerCase().startsWith(name.toLowerCase()));
    if (found.length > 0) return found;
  }
  return [];
}

export async function readContext(
  client: Client,
  agent: string | undefined,
  now: number,
): Promise<ContextFigures> {
  const range = {
    from: new Date(now - RECENT_DAYS * 86_400_000).toISOString(),
    to: new Date(now).toISOString(),
  };
  // The fleet has only live agents. Find idle instances by their recent sessions.
  const names = [...new Set([agent, "phantom"].filter((name) => name !== undefined && name !== ""))];
  const [fleet, ...pages] = await Promise.all([
    client.query("fleet", {}, FleetView),
    ...names.map((q) =>
      client.query("sessions.list", { ...range, q: q!.slice(0, 200), limit: 100 }, SessionPage),
    ),
  ]);
  const seen = [
    ...fleet.agents.map(({ harness }) => harness),
    ...pages.flatMap((page) => page.items.map(({ harness }) => harness)),
  ];
  const harnesses = phantomHarnesses(seen, agent);
  const statuses = await Promise.all(
    (harnesses.length === 0 ? [undefined] : harnesses).map((harness) =>
      client.query("status", { ...range, harness }, FleetStatusSchema),
    ),
  );
  return combine(statuses, harnesses.length === 0 ? null : harnesses);
}

export function combine(statuses: readonly FleetStatus[], harnesses: string[] | null): ContextFigures {
  const sum = (field: "subticks" | "sessions" | "sessions_past_warning") =>
    statuses.reduce((total, { totals }) => total + totals[field], 0);
  const peaks = statuses.flatMap(({ totals }) => totals.peak_utilization ?? []);
  const currents = statuses.flatMap(({ current }) =>
    current === null || current.context_tokens === null
      ? []
      : [
          {
            context_tokens: current.context_tokens,
            window_tokens: current.window_tokens,
            utilization: current.utilization,
          },
        ],
  );
  return {
    harnesses,
    days: RECENT_DAYS,
    // Of several instances, show the fullest.
    current: currents.sort((a, b) => (b.utilization ?? 0) - (a.utilization ?? 0))[0] ?? null,
    peak_utilization: peaks.length === 0 ? null : Math.max(...peaks),
    subticks: sum("subticks"),
    sessions: sum("sessions"),
    sessions_past_warning: sum("sessions_past_warning"),
  };
}

/** The segment appended to Phantom's status line. */
export function contextSegment(figures: ContextFigures): string {
  const { current, peak_utilization: peak } = figures;
  if (current === null && peak === null) return "context: no turns yet";
  const whole = (share: number) => `${Math.round(share * 100)}%`;
  const now =
    current === null
      ? "idle"
      : current.utilization === null
        ? `${tokens(current.context_tokens)} tokens`
        : whole(current.utilization);
  return `context: ${now} now, ${peak === null ? "unknown" : whole(peak)} peak`;
}

export function contextLines(figures: ContextFigures): string[] {
  const { current, peak_utilization: peak } = figures;
  const window =
    current === null || current.window_tokens === null
      ? "window size unknown"
      : `${percent(current.utilization ?? current.context_tokens / current.window_tokens)} of ${tokens(current.window_tokens)}${
          current.context_tokens > current.window_tokens ? ", window suspect" : ""
        }`;
  const rows: [string, string][] = [
    [
      "current session",
      current === null ? "no live session" : `${number(current.context_tokens)} tokens (${window})`,
    ],
    ["peak utilization", peak === null ? "unknown" : `${percent(peak)} in ${figures.days} days`],
    ["sub-tick boundaries", `${number(figures.subticks)} in ${figures.days} days`],
    [
      "warnings",
      `${number(figures.sessions_past_warning)} of ${number(figures.sessions)} sessions crossed the warning threshold`,
    ],
  ];
  const scope =
    figures.harnesses === null ? ["  (all harnesses, because none is named after this Phantom)"] : [];
  return [...rows.map(([name, value]) => `  ${name.padEnd(19)}  ${value}`), ...scope];
}
