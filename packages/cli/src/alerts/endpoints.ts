import { readFile } from "node:fs/promises";
import {
  AlertAttempt,
  AlertEndpointList,
  type AlertEndpointView,
  AlertEndpointWithSecret,
} from "@plimsoll/protocol/api";
import type { Command } from "commander";
import { type Client, createClient } from "../client.ts";
import { type CommandContext, withConnection } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { ago, plural } from "../number-format.ts";
import { printable, printableJson } from "../terminal.ts";
import { idOf } from "./id-of.ts";

/** Exit code of `plimsoll alerts test` if the endpoint did not take the test. */
const NOT_DELIVERED = 2;

const TARGET_EXAMPLES = `
The file holds JSON, such as:
  {"kind": "webhook", "url": "https://example.com/hook"}
  {"kind": "slack", "url": "https://hooks.slack.com/services/T0/B0/x"}
  {"kind": "pagerduty", "routing_key": "R0..."}
  {"kind": "email", "smtp_url": "smtps://user:password@mail.example.com", "from": "plimsoll@example.com",
   "to": ["ops@example.com"]}
Use - for standard input, so that no secret stays in a file or the shell's history.`;

type Flags = ConnectionFlags & { json?: boolean };

export function addEndpointCommands(alerts: Command, { out, env, now }: CommandContext): void {
  const open = async (flags: ConnectionFlags) => createClient(await connect(flags, env));
  const endpoints = withConnection(alerts.command("endpoints"))
    .description("List the endpoints that receive alerts")
    .option("--json", "print JSON")
    .action(async (flags: Flags) => {
      const list = await (await open(flags)).query("alerts.endpoints.list", {}, AlertEndpointList);
      if (flags.json) out.write(`${printableJson(list)}\n`);
      else if (list.endpoints.length === 0)
        out.write("No endpoints. Create one with: npx plimsoll alerts endpoints create <name> <file>\n");
      else for (const endpoint of list.endpoints) out.write(`${describe(endpoint, now())}\n`);
    });
  withConnection(endpoints.command("create"))
    .description("Create an endpoint from a file with its target")
    .argument("<name>")
    .argument("<file>", "JSON; - for standard input")
    .addHelpText("after", TARGET_EXAMPLES)
    .action(async (name: string, file: string, flags: ConnectionFlags) => {
      const input = { name, target: await readTarget(file) };
      const made = await (await open(flags)).mutate(
        "alerts.endpoints.create",
        input,
        AlertEndpointWithSecret,
      );
      out.write(
        `Created the endpoint "${printable(made.endpoint.name)}". Test it: npx plimsoll alerts test ${made.endpoint.id}\n`,
      );
      if (made.signing_secret !== null)
        out.write(`Signing secret, shown only now: ${printable(made.signing_secret)}\n`);
    });
  withConnection(alerts.command("test"))
    .description("Send a test to an endpoint and show the answer; exit code 2 if it does not take it")
    .argument("<name|id>")
    .option("--json", "print JSON")
    .action(async (which: string, flags: Flags) => {
      const client = await open(flags);
      const { id, name } = await endpointOf(client, which);
      const attempt = await client.mutate("alerts.endpoints.test", { id }, AlertAttempt);
      if (flags.json) out.write(`${printableJson(attempt)}\n`);
      else {
        const status = attempt.status === null ? "" : ` (${attempt.status})`;
        const said =
          attempt.outcome === "delivered" ? "took the test" : `did not take the test: ${attempt.outcome}`;
        out.write(`${printable(name)} ${said}${status}, after ${attempt.duration_ms} ms.\n`);
        if (attempt.answer !== "") out.write(`${printable(attempt.answer)}\n`);
      }
      if (attempt.outcome !== "delivered") process.exitCode = NOT_DELIVERED;
    });
}

function describe(endpoint: AlertEndpointView, now: number): string {
  const { id, name, kind, address, waiting, pause_reason, failing_since, readable, last_attempt } = endpoint;
  const last = last_attempt && `last ${last_attempt.outcome} ${ago(now - Date.parse(last_attempt.at))}`;
  const state = [
    !readable && "its secrets cannot be read: save its target again",
    pause_reason && `paused: ${pause_reason}`,
    pause_reason === null && failing_since && `failing since ${failing_since}`,
    waiting > 0 && `${plural(waiting, "delivery", "deliveries")} waiting`,
    last ?? "never used",
  ].filter(Boolean);
  return `${id.slice(0, 8)}  ${printable(name)}  ${kind}  ${printable(address)}  ${state.join(", ")}`;
}

async function readTarget(file: string): Promise<unknown> {
  const text = file === "-" ? await readInput() : await readFile(file, "utf8").catch(unreadable(file));
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The message of JSON.parse would repeat a part of the text, which holds secrets.
    throw new CliError("The target is not valid JSON.", {
      hint: "See: npx plimsoll alerts endpoints create --help",
      cause,
    });
  }
}

const unreadable = (file: string) => (cause: Error) => {
  throw new CliError(`${file} cannot be read: ${cause.message}`, {
    hint: "Give a file with JSON, or -.",
    cause,
  });
};

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function endpointOf(client: Client, which: string): Promise<AlertEndpointView> {
  const { endpoints } = await client.query("alerts.endpoints.list", {}, AlertEndpointList);
  const named = endpoints.find(({ name }) => name === which);
  if (named !== undefined) return named;
  const id = idOf(endpoints, which, "endpoint");
  return endpoints.find((endpoint) => endpoint.id === id)!;
}
