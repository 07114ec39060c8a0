import type { AlertBacktest } from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { type DayStage, playDay, playNight } from "./alert-days.ts";
import { type BenchGroup, type Measurement, rounded } from "./measurement.ts";
import type { BenchServer } from "./server.ts";
import { withServer } from "./with-server.ts";

/** Events of one request. */
const BATCH = 5_000;

/** What the presets tell of a working day, and of a night with six accidents. */
export const alertPresets: BenchGroup = {
  names: ["alerts.day", "alerts.night"],
  async *run(context) {
    for (const [name, row] of [
      ["alerts.day", dayRow],
      ["alerts.night", nightRow],
    ] as const) {
      if (!context.wanted(name)) continue;
      context.note(`${name} ...`);
      yield await withServer(async (server) => ({ name, ...(await row(stageOf(server))) }));
    }
  },
};

type Row = Pick<Measurement, "value" | "unit"> & Record<string, number | string>;

async function dayRow(stage: DayStage): Promise<Row> {
  const { agents, hours, turns, compactions, messages, atEachCrossing } = await playDay(stage);
  const value = rounded(messages / (agents * hours), 3);
  const details = { agents, hours, turns, compactions, messages, messages_at_each_crossing: atEachCrossing };
  return { value, unit: "messages an agent-hour", ...details };
}

async function nightRow(stage: DayStage): Promise<Row> {
  const { agents, hours, accidents, inTime, slowestS, twice, messages, falseMessages } =
    await playNight(stage);
  const details = { agents, hours, messages, slowest_s: rounded(slowestS, 1), told_twice: twice };
  return {
    value: inTime,
    unit: `of ${accidents} accidents within 2 min`,
    ...details,
    messages_about_others: falseMessages,
  };
}

function stageOf(server: BenchServer): DayStage {
  return {
    async send(events) {
      for (let from = 0; from < events.length; from += BATCH) {
        const batch = events.slice(from, from + BATCH);
        const { status, body } = await server.request<IngestAnswer>("/api/v1/events", {
          method: "POST",
          headers: { "content-type": "application/json", prefer: "wait" },
          body: JSON.stringify(batch),
        });
        if (status !== 200 || body.accepted !== batch.length)
          throw new Error(
            `The server answered ${status} and accepted ${body?.accepted} of ${batch.length} events.`,
          );
      }
    },
    async firings(rule, { from, to }) {
      const call = { rule, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      const { firings, complete } = await server.mutate<AlertBacktest>("alerts.backtest", call);
      if (!complete) throw new Error("The backtest did not examine the whole history.");
      return firings;
    },
  };
}
