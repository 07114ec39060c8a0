import type { Actor } from "../audit/entry.ts";

/** Whoever changes something in a test. */
export const LOCAL: Actor = { kind: "local" };
