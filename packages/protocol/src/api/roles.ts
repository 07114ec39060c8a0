import type { Scope } from "./read.ts";

/** From the one that may least to the one that may most. */
export const ROLES = ["viewer", "member", "editor", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** The least role of a person whose key may have a scope. */
export const ROLE_OF_SCOPE = {
  read: "viewer",
  self: "viewer",
  "policy:read": "viewer",
  ingest: "member",
  "policy:ack": "member",
  "sessions:write": "member",
  "alerts:write": "editor",
  "policy:write": "editor",
  admin: "admin",
} as const satisfies Record<Scope, Role>;
