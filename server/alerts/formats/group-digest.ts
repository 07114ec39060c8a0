import { createHash } from "node:crypto";
import type { AlertNotification } from "@plimsoll/protocol/alerts";

/** Names a group to receivers that put messages about one thing together. Short, whatever the names in it. */
export function groupDigest({ project, group, kind, id }: AlertNotification): string {
  // A test must not be taken for an alert.
  const key = kind === "test" ? `test ${id}` : group;
  return createHash("sha256").update(`${project.id}/${key}`).digest("hex").slice(0, 32);
}
