import type { FleetStatus as Status, FleetView as View } from "@plimsoll/protocol";
import { FleetStatus, FleetView } from "@plimsoll/protocol";
import type { Client } from "../client.ts";
import { createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import type { Terminal } from "../terminal.ts";
import { painter, printableJson } from "../terminal.ts";
import { statusLines } from "./format.ts";

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

export function drawFleet({ status, fleet }: FleetReading, terminal: Terminal, now: number): string[] {
  return statusLines(status, fleet, { width: terminal.width, paint: painter(terminal.color), now });
}

export async function runStatus(
  connection: Connection,
  terminal: Terminal,
  options: { json: boolean; harness?: string | undefined; now: number },
): Promise<void> {
  const fleet = await readFleet(createClient(connection), options.now, options.harness);
  if (options.json) terminal.write(`${printableJson({ url: connection.url, ...fleet })}\n`);
  else terminal.write(`${drawFleet(fleet, terminal, options.now).join("\n")}\n`);
}
