import type { SaveNoteCall, SessionNoteText } from "@plimsoll/protocol/api";
import { PlimsollError } from "../errors.ts";
import { noteText } from "../read/session.ts";
import { type Actor, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { changeAlone, type SessionChangeOptions } from "../tenants/projects/change-project.ts";

/** Notes that people write on sessions, one for each session. */
export class SessionNotes {
  readonly #options: SessionChangeOptions;

  constructor(options: SessionChangeOptions) {
    this.#options = options;
  }

  /**
   * Replaces the note of a session. A deleted note keeps its row, so that its revision goes on.
   * @throws PlimsollError `not_found`, or `conflict` if somebody else changed the note meanwhile
   */
  async save(projectId: number, call: SaveNoteCall, actor: Actor): Promise<SessionNoteText> {
    const { prisma, clock, changed } = this.#options;
    const { id: sessionId, expected } = call;
    const note = call.note.trim();
    const where = { projectId_sessionId: { projectId, sessionId } };
    const saved = await changeAlone(prisma, projectId, async (tx) => {
      const session = await tx.session.findUnique({
        where: { projectId_id: { projectId, id: sessionId } },
        select: { title: true, name: true },
      });
      if (session === null) throw new PlimsollError("not_found", `There is no session ${sessionId}.`);
      const before = await tx.sessionNote.findUnique({ where });
      // The same text again is a repeated call, and no conflict.
      if ((before?.note ?? "") === note) return before;
      if ((before?.revision ?? 0) !== expected)
        throw new PlimsollError("conflict", "Somebody else changed this note meanwhile. Read it again.", {
          details: noteText(before),
        });
      const row = {
        note,
        revision: expected + 1,
        updatedAt: new Date(clock()),
        ...authorOf(actor),
      };
      await addEntry(tx, clock(), {
        actor,
        action: "session_note_saved",
        projectId,
        target: session.title ?? session.name,
        detail: note === "" ? "deleted" : `${note.length} characters`,
      });
      return tx.sessionNote.upsert({
        where,
        create: { projectId, sessionId, ...row },
        update: row,
      });
    });
    changed(projectId, [sessionId]);
    return noteText(saved);
  }
}
