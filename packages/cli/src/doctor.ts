import type { DoctorReport as Report } from "@plimsoll/protocol";
import { DoctorReport } from "@plimsoll/protocol";
import type { Client } from "./client.ts";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import type { Terminal } from "./terminal.ts";
import { painter, printable } from "./terminal.ts";

/** Returns the server's report with a connection check first. A failed connection is a failed check. */
export async function examine(client: Client, connection: Connection): Promise<Report> {
  const token =
    connection.tokenSource === undefined
      ? "requests without a key"
      : `the key from ${connection.tokenSource}`;
  try {
    const report = await client.query("doctor", undefined, DoctorReport);
    const reached = {
      name: "connection",
      ok: true,
      message: `${connection.url} answers and accepts ${token}.`,
    };
    return { ok: report.ok, checks: [reached, ...report.checks] };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const message = [error.message, error.hint].filter(Boolean).join(" ");
    return { ok: false, checks: [{ name: "connection", ok: false, message }] };
  }
}

export function doctorLines(report: Report, color: boolean): string[] {
  const paint = painter(color);
  const width = Math.max(...report.checks.map((check) => check.name.length));
  return [
    ...report.checks.map(
      (check) =>
        `${check.ok ? paint("green", "ok  ") : paint("red", "FAIL")}  ${printable(check.name).padEnd(width)}  ${printable(check.message)}`,
    ),
    "",
    report.ok ? "All checks passed." : paint("bold", "Some checks failed."),
  ];
}

export async function runDoctor(
  client: Client,
  connection: Connection,
  terminal: Terminal,
  json: boolean,
): Promise<boolean> {
  const report = await examine(client, connection);
  terminal.write(
    json ? `${JSON.stringify(report, null, 2)}\n` : `${doctorLines(report, terminal.color).join("\n")}\n`,
  );
  return report.ok;
}
