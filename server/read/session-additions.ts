import { NOTE_EXCERPT, type SessionSummary } from "@plimsoll/protocol/api";
import type { Reader } from "../lines/reader.ts";

/** What people added to a session, as a list shows it. */
export type SessionAdditions = Pick<SessionSummary, "tags" | "note_excerpt">;

const NOTHING: SessionAdditions = { tags: [], note_excerpt: null };

/** Tags and notes of some sessions. */
export async function readAdditions(
  { prisma, projectId }: Reader,
  sessionIds: readonly string[],
): Promise<(sessionId: string) => SessionAdditions> {
  const where = { projectId, sessionId: { in: [...sessionIds] } };
  const [tags, notes] = await Promise.all([
    prisma.sessionTag.findMany({ where, orderBy: { tag: "asc" } }),
    prisma.sessionNote.findMany({
      where: { ...where, note: { not: "" } },
      select: { sessionId: true, note: true },
    }),
  ]);
  const additions = new Map<string, SessionAdditions>();
  for (const { sessionId, tag } of tags) {
    const known = additions.get(sessionId) ?? NOTHING;
    additions.set(sessionId, { ...known, tags: [...known.tags, tag] });
  }
  for (const { sessionId, note } of notes)
    additions.set(sessionId, { ...(additions.get(sessionId) ?? NOTHING), note_excerpt: excerpt(note) });
  return (sessionId) => additions.get(sessionId) ?? NOTHING;
}

/** Cut between characters, not inside a surrogate pair. */
function excerpt(note: string): string {
  return Array.from(note.slice(0, 2 * NOTE_EXCERPT))
    .slice(0, NOTE_EXCERPT)
    .join("");
}
