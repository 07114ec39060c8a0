/** From the one that may least to the one that may most. */
export const ROLES = ["viewer", "member", "editor", "admin"] as const;
export type Role = (typeof ROLES)[number];
