import type { Identity } from "../db/process-identity.ts";

/** How a process that ended is identified: its number may belong to another one by now. */
export const ENDED: readonly Identity[] = ["gone", "other"];
