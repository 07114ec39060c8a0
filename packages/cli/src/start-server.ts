import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { createClient } from "./client.ts";
import type { CommandContext } from "./command-context.ts";
import { connect } from "./connection.ts";
import { CliError } from "./errors.ts";
import { printable } from "./terminal.ts";

/** The folder that has both the server and the command line, in a checkout as in the package. */
const ROOT = join(import.meta.dirname, "../../..");

export function addUpCommand(program: Command, context: CommandContext): void {
  program
    .command("up")
    .description("Start the server of this installation; the default without a command")
    .option("--open", "log in with the browser of this machine")
    .addHelpText(
      "after",
      `
Settings are environment variables; the port is PORT=4180. Ctrl-C stops the server.
--open hands the login link to the browser as an argument, which other users of this machine can see.
Among people whom you do not trust, open the printed link by hand.`,
    )
    .action(async ({ open = false }: { open?: boolean }) => {
      process.exitCode = await runServer(context, open);
    });
}

/**
 * Runs the server as a child, because the sizes of its heap can be set only at its start.
 * @returns its exit code
 */
async function runServer(context: CommandContext, open: boolean): Promise<number> {
  const program = join(ROOT, "scripts/start.mjs");
  if (!existsSync(program)) {
    throw new CliError("This package has only the command line.", { hint: "Install the package plimsoll." });
  }
  if (!existsSync(join(ROOT, "dist/server/main.js"))) {
    throw new CliError("The server is not built yet.", { hint: `Run "npm start" in ${ROOT} first.` });
  }
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const flags = new Set<string>(scripts.start.match(/--\S+/g));
  const server: ChildProcess = spawn(process.execPath, [...flags, program], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  // A terminal sends Ctrl-C to the server as well, which ignores the second one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => server.kill(signal === "SIGHUP" ? "SIGTERM" : signal));
  }
  // npx passes a signal to its shell, which dies and tells nobody.
  const { ppid } = process;
  if (context.env.npm_command === "exec")
    setInterval(() => process.ppid !== ppid && server.kill("SIGTERM"), 500).unref();
  if (open) server.once("message", (message) => void logIn(Listening.parse(message), context));
  const [code] = await once(server, "exit");
  return code ?? 1;
}

const Listening = z.object({ listening: z.string() });

/** Never rejects: the server runs on, and has printed how to log in. */
async function logIn({ listening }: z.output<typeof Listening>, context: CommandContext): Promise<void> {
  try {
    const client = createClient(await connect({ url: listening }, { ...context.env, PLIMSOLL_KEY: "" }));
    const { url } = await client.mutate("login.create", undefined, z.object({ url: z.string() }));
    for (const [name, ...args] of browserCommands(process.platform, context.env)) {
      if (await succeeds(spawn(name, [...args, url], { stdio: "ignore" }))) return;
    }
    context.err.write("  No browser could be opened on this machine.\n\n");
  } catch (error) {
    context.err.write(`  The browser was not opened: ${printable(String(error))}\n\n`);
  }
}

/** What opens an address in the browser, the best first. */
export function browserCommands(
  platform: NodeJS.Platform,
  env: CommandContext["env"],
): [program: string, ...args: string[]][] {
  if (platform === "darwin") return [["open"]];
  // Not through cmd.exe, which takes & and ^ of an address as its own.
  if (platform === "win32") return [["rundll32.exe", "url.dll,FileProtocolHandler"]];
  const windows =
    env.WSL_DISTRO_NAME === undefined ? [] : [["wslview"], ["rundll32.exe", "url.dll,FileProtocolHandler"]];
  return [...windows, ["xdg-open"]] as [string, ...string[]][];
}

const succeeds = (child: ChildProcess) =>
  new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
