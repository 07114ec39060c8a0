import { exact } from "@plimsoll/protocol/pure";
import { type Forecast, forecast as forecastTurns } from "../../history/forecast.ts";
import { type AgentSight, atLevel } from "../agent-sight.ts";
import { type AgentConditionKind, counted } from "../condition-kind.ts";

/** The line is near at the present pace, or passed. */
export const forecast: AgentConditionKind<"forecast"> = {
  title: "forecast to the line",
  phrase({ turns_below, minutes_below }) {
    const parts = [
      turns_below && `fewer than ${counted(turns_below, "turn")}`,
      minutes_below && `less than ${minutes_below} min`,
    ].filter(Boolean);
    return `${parts.join(" or ")} to the line`;
  },
  fields: {
    turns_below: { label: "Fewer turns than", kind: "number" },
    minutes_below: { label: "Or fewer minutes than", kind: "number", unit: "minutes" },
  },
  start: { type: "forecast", turns_below: 5 },
  advice: "Let the agent finish its step, then compact or restart it.",
  spansWindows: false,
  find({ turns_below, minutes_below }, sight) {
    const { reason, turns } = forecastOf(sight);
    if (turns === undefined) return atLevel(sight, reason === "over");
    const isNear = turns_below !== undefined && turns < turns_below;
    const minutes = sight.msPerTurn === undefined ? undefined : (turns * sight.msPerTurn) / 60_000;
    return atLevel(
      sight,
      isNear || (minutes_below !== undefined && minutes !== undefined && minutes < minutes_below),
    );
  },
  why(_, sight) {
    const { turns } = forecastOf(sight);
    const { line } = sight;
    if (turns === undefined) return `The ${line?.threshold ?? "line"} is passed`;
    return `${counted(turns, "turn")} left to the ${line?.threshold ?? "line"} (${exact(line?.tokens ?? 0)} tokens)`;
  },
};

/** Many rules ask for the forecast of the same sight. */
const forecasts = new WeakMap<AgentSight, Forecast>();

function forecastOf(sight: AgentSight): Forecast {
  let known = forecasts.get(sight);
  if (known === undefined) {
    known = forecastTurns(sight.recent, sight.line?.tokens);
    forecasts.set(sight, known);
  }
  return known;
}
