import { MOST_TAGS, type TaggedSessions, type TagSessionsCall } from "@plimsoll/protocol/api";
import { type Actor, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { changeAlone, type SessionChangeOptions } from "../tenants/projects/change-project.ts";

/** Tags that people put on sessions. */
export class SessionTags {
  readonly #options: SessionChangeOptions;

  constructor(options: SessionChangeOptions) {
    this.#options = options;
  }

  /** Adds a tag to sessions, or removes it. Sessions that do not exist are left out. */
  async change(projectId: number, call: TagSessionsCall, actor: Actor): Promise<TaggedSessions> {
    const { prisma, clock, changed } = this.#options;
    const { ids, tag, action } = call;
    const { actor: kind, actorName } = authorOf(actor);
    const result = await changeAlone(prisma, projectId, async (tx) => {
      const full =
        action === "remove"
          ? []
          : await tx.$queryRaw<{ id: string }[]>`
              SELECT session_id AS id FROM session_tags
              WHERE project_id = ${projectId} AND session_id = ANY(${ids}::uuid[])
              GROUP BY session_id HAVING count(*) >= ${MOST_TAGS} AND NOT bool_or(tag = ${tag})
              ORDER BY session_id`;
      const rows =
        action === "remove"
          ? await tx.$queryRaw<{ id: string }[]>`
              DELETE FROM session_tags
              WHERE project_id = ${projectId} AND tag = ${tag} AND session_id = ANY(${ids}::uuid[])
              RETURNING session_id AS id`
          : await tx.$queryRaw<{ id: string }[]>`
              INSERT INTO session_tags (project_id, session_id, tag, actor, actor_name)
              SELECT ${projectId}, id, ${tag}, ${kind}::text, ${actorName}::text FROM sessions
              WHERE project_id = ${projectId} AND id = ANY(${ids}::uuid[]) AND deleted_at IS NULL
                AND NOT id = ANY(${full.map(({ id }) => id)}::uuid[])
              ON CONFLICT DO NOTHING RETURNING session_id AS id`;
      if (rows.length > 0)
        await addEntry(tx, clock(), {
          actor,
          action: action === "add" ? "session_tagged" : "session_untagged",
          projectId,
          target: tag,
          detail: `${rows.length} session${rows.length === 1 ? "" : "s"}`,
        });
      return { tag, changed: rows.map(({ id }) => id).sort(), full: full.map(({ id }) => id) };
    });
    if (result.changed.length > 0) changed(projectId, result.changed);
    return result;
  }
}
