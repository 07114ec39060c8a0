import type { SessionChangeOptions } from "../tenants/projects/change-project.ts";
import { SessionNotes } from "./session-notes.ts";
import { SessionTags } from "./session-tags.ts";
import { SessionViews } from "./session-views.ts";

/** What people may change about sessions. */
export function sessionChanges(options: SessionChangeOptions) {
  return {
    sessionTags: new SessionTags(options),
    sessionNotes: new SessionNotes(options),
    sessionViews: new SessionViews(options),
  };
}
