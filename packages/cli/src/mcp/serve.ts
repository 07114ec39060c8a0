import { homedir } from "node:os";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createClient } from "../client.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, connect } from "../connection.ts";
import { homeFolder } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { createMcpServer } from "./mcp-server.ts";
import { NoteReports } from "./note-reports.ts";
import { ServerLines } from "./server-line.ts";
import { Sessions } from "./sessions.ts";

/** Longest wait for the server, which no answer waits for, ms. */
const PATIENCE_MS = 5_000;

/** Serves MCP on standard input and output until the harness closes them. */
export async function serveMcp(
  { session, ...flags }: ConnectionFlags & { session?: string },
  { env, now, untilStopped }: CommandContext,
): Promise<void> {
  const places = { home: env.HOME || homedir(), project: process.cwd(), env, platform: process.platform };
  const sessions = new Sessions({ places, argument: session, now });
  const lines = new ServerLines(async () => {
    const connection = await connect(flags, env);
    return connection.token === undefined ? undefined : createClient(connection, PATIENCE_MS);
  }, now);
  const home = homeFolder(env);
  const reports = new NoteReports(() => connect(flags, env), home);
  const options = { sessions, lines, reports, machine: machineOf(env), places, home, now };
  const stopped = untilStopped();
  const handle = serveStdio(() => createMcpServer(options), {
    // Standard output belongs to the protocol.
    onerror: (error) => process.stderr.write(`plimsoll mcp: ${error.message}\n`),
  });
  await new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
  await handle.close();
  await sessions.close();
  await reports.close();
}
