import { hostname } from "node:os";
import type { Env } from "../home-folder.ts";

/** The name of this machine in events: `PLIMSOLL_MACHINE`, else its host name. */
export const machineOf = (env: Env = process.env): string => env.PLIMSOLL_MACHINE?.trim() || hostname();
