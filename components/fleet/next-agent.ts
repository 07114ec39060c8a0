import type { FleetAgent } from "@plimsoll/protocol/api";
import { isSilent } from "@plimsoll/protocol/pure";
import { isPastLine, levelState } from "../charts/level.ts";
import { exact, plural } from "../format.ts";
import { FORECAST_LIMIT, titleOf } from "../words.ts";

/** Minutes within which others are counted, too. */
const SOON_MINUTES = 10;

interface Arrival {
  agent: FleetAgent;
  turns: number;
  /** Null if its pace is unknown. */
  minutes: number | null;
}

/** Who overflows next. Silent agents and those with a wrong window are left out. */
export type NextAgent =
  | {
      /** `window_end`: the agent is past its line already. */
      reason: "line" | "window_end";
      next: Arrival;
      /** How many others arrive within ten minutes. */
      soon: number;
    }
  /** Some agents are past their line, and nobody is forecast to get any further. */
  | { reason: "past"; agent: FleetAgent; count: number }
  /** `no_line`: no agent has a known line. `none`: no agent is active. */
  | { reason: "calm" | "no_line" | "none" };

/** @param now epoch ms */
export function nextAgent(agents: readonly FleetAgent[], now: number): NextAgent {
  const active = agents.filter((agent) => !agent.window_suspect && !isSilent(agent, now));
  const past = active.filter((agent) => isPastLine(levelState(agent)));
  const atEnd = inOrder(past.filter((agent) => levelState(agent) === "danger").flatMap(toWindowEnd));
  const atLine = inOrder(active.flatMap(toLine));
  // The end of a window is worse than any line.
  const next = atEnd[0] ?? atLine[0];
  if (next !== undefined) {
    const others = [...atEnd, ...atLine].filter((one) => one !== next);
    const soon = others.filter(({ minutes }) => minutes !== null && minutes <= SOON_MINUTES).length;
    return { reason: atEnd.length > 0 ? "window_end" : "line", next, soon };
  }
  const furthest = past.toSorted((a, b) => (b.load ?? 0) - (a.load ?? 0))[0];
  if (furthest !== undefined) return { reason: "past", agent: furthest, count: past.length };
  if (active.length === 0) return { reason: "none" };
  return { reason: active.every(({ line }) => line === null) ? "no_line" : "calm" };
}

function toLine(agent: FleetAgent): Arrival[] {
  const { reason, turns, minutes } = agent.forecast;
  const isNear = reason === "rising" && turns !== null && turns <= FORECAST_LIMIT;
  return isNear ? [{ agent, turns, minutes }] : [];
}

function toWindowEnd(agent: FleetAgent): Arrival[] {
  const { end_turns: turns, end_minutes: minutes } = agent.forecast;
  return turns === null ? [] : [{ agent, turns, minutes }];
}

/** The soonest first. Without a known pace, a turn counts as a minute. */
function inOrder(arrivals: readonly Arrival[]): Arrival[] {
  const timeOf = ({ turns, minutes }: Arrival) => minutes ?? turns;
  return arrivals.toSorted((a, b) => timeOf(a) - timeOf(b) || a.turns - b.turns);
}

/** A part of the sentence: plain, the name of an agent, or the time that it has left. */
export interface SentencePart {
  text: string;
  is?: "name" | "time";
}

/** The sentence above the fleet. */
export function nextText(view: NextAgent): SentencePart[] {
  switch (view.reason) {
    case "line":
    case "window_end": {
      const { agent, turns, minutes } = view.next;
      const goal = view.reason === "line" ? "its line" : "the end of its window";
      const time = minutes === null ? [] : [minutesText(minutes)];
      return [
        { text: "Next: " },
        { text: nameOf(agent), is: "name" },
        ...(turns < 1
          ? [{ text: " is at " }, { text: goal, is: "time" as const }]
          : [
              { text: ` reaches ${goal} in ` },
              { text: [plural(turns, "turn"), ...time].join(", "), is: "time" as const },
            ]),
        ...(view.soon > 0
          ? [{ text: `, then ${exact(view.soon)} more within ${SOON_MINUTES} minutes` }]
          : []),
      ];
    }
    case "past":
      return view.count === 1
        ? [{ text: nameOf(view.agent), is: "name" }, { text: " is past its line. Nobody else is near one" }]
        : [
            { text: plural(view.count, "agent"), is: "time" },
            { text: " are past their line, furthest " },
            { text: nameOf(view.agent), is: "name" },
            { text: ". Nobody else is near one" },
          ];
    case "calm":
      return [{ text: "Nobody is near a line" }];
    case "no_line":
      return [{ text: "No agent has a known line" }];
    case "none":
      return [{ text: "No agent is active" }];
  }
}

const nameOf = (agent: FleetAgent) =>
  agent.name === "main" ? titleOf(agent) : `${titleOf(agent)} › ${agent.name}`;

export function minutesText(minutes: number): string {
  if (minutes < 1) return "under 1 minute";
  return minutes < 90
    ? `about ${plural(Math.round(minutes), "minute")}`
    : `about ${plural(Math.round(minutes / 60), "hour")}`;
}
