import type { Actor } from "../tenants/audit/entry.ts";

/** Whoever changes something in a test. */
export const LOCAL: Actor = { kind: "local" };
