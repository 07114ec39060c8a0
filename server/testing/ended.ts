import type { ProcessIdentity } from "../db/postgres/process-identity.ts";

/** How a process that ended is identified: its number may belong to another one by now. */
export const ENDED: readonly ProcessIdentity[] = ["gone", "other"];
