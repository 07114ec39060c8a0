import type { AuditQuery, AuditTopic } from "@plimsoll/protocol/api";

/** The query of the section, which the page prefetches. */
export const activityQuery = (topic: AuditTopic | undefined): Omit<AuditQuery, "cursor"> => ({
  limit: 20,
  ...(topic !== undefined && { topic }),
});
