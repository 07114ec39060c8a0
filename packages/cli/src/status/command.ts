import {
  FleetStatus,
  FleetView,
  type ObservedHarnessLines as HarnessLines,
  ObservedHarnessLines,
  type FleetStatus as Status,
  type FleetView as View,
} from "@plimsoll/protocol/api";
import { type Client, createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import { linesOf, type ScreenText } from "../scroll.ts";
import { painter, printableJson, type Terminal } from "../terminal.ts";
import { statusText } from "./format.ts";
import { harnessLineLines } from "./harness-lines.ts";

const DAY_MS = 86_400_000;

export interface FleetReading {
  status: Status;
  fleet: View;
}

export async function readFleet(client: Client, now: number, harness?: string): Promise<FleetReading> {
  const range = { from: new Date(now - DAY_MS).toISOString(), to: new Date(now).toISOString() };
  const [status, fleet] = await Promise.all([
    client.query("status", { ...range, harness }, FleetStatus),
    client.query("fleet", { harness }, FleetView),
  ]);
  return { status, fleet };
}

/** Where harnesses compact. Costs more than the fleet, so it is not read again for every change. */
function readLines(client: Client, harness?: string): Promise<HarnessLines> {
  return client.query("harnessLines", { harness }, ObservedHarnessLines);
}

export function drawFleet({ status, fleet }: FleetReading, terminal: Terminal, now: number): ScreenText {
  return statusText(status, fleet, { width: terminal.width, paint: painter(terminal.color), now });
}

export async function runStatus(
  connection: Connection,
  terminal: Terminal,
  options: { json: boolean; harness?: string | undefined; now: number },
): Promise<void> {
  const client = createClient(connection);
  const fleet = await readFleet(client, options.now, options.harness);
  const harnessLines = await readLines(client, options.harness);
  if (options.json)
    terminal.write(
      `${printableJson({ url: connection.url, ...fleet, harness_lines: harnessLines.lines })}\n`,
    );
  else {
    const paint = painter(terminal.color);
    const lines = [
      ...linesOf(drawFleet(fleet, terminal, options.now)),
      ...harnessLineLines(fleet.fleet.agents, harnessLines.lines, paint),
    ];
    terminal.write(`${lines.join("\n")}\n`);
  }
}
