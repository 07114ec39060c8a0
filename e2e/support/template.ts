import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { launchServer, makeHome } from "../../server/testing/launch.ts";

const run = promisify(execFile);

/** Where the workers find it. */
const VARIABLE = "PLIMSOLL_E2E_TEMPLATE";

/** Starts and stops a server in a new home. Starting on a copy of it takes half as long as creating a database. */
export async function makeTemplate(): Promise<string> {
  const home = await makeHome("template");
  const server = await launchServer({ home });
  await server.stop("SIGINT");
  process.env[VARIABLE] = home;
  return home;
}

/** A new home with an empty database. */
export async function makeHomeFromTemplate(): Promise<string> {
  const home = await makeHome("e2e");
  const template = process.env[VARIABLE];
  // PostgreSQL's files belong to another user if the tests run as root, and `cp` keeps that. Windows has no `cp`.
  if (template !== undefined && process.platform !== "win32") await run("cp", ["-a", `${template}/.`, home]);
  return home;
}
