import type { ProcessIdentity } from "../db/process-identity.ts";

/** How a process that ended is identified: its number may belong to another one by now. */
export const ENDED: readonly ProcessIdentity[] = ["gone", "other"];
