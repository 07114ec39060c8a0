import { MOST_SAVED_VIEWS, type SavedSessionView, type SaveSessionViewCall } from "@plimsoll/protocol/api";
import type { SessionView } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import { type Actor, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { changeAlone, type SessionChangeOptions } from "../tenants/projects/change-project.ts";
import { iso } from "../times.ts";

/** Saved views of the session list. */
export class SessionViews {
  readonly #options: Omit<SessionChangeOptions, "changed">;

  constructor(options: Omit<SessionChangeOptions, "changed">) {
    this.#options = options;
  }

  async list(projectId: number): Promise<SavedSessionView[]> {
    const rows = await this.#options.prisma.sessionView.findMany({
      where: { projectId },
      orderBy: [{ name: "asc" }, { id: "asc" }],
    });
    return rows.map(viewOf);
  }

  /**
   * Creates a view, or replaces the one with this id.
   * @throws PlimsollError `conflict` if another view has the name, `invalid_field` if there are 100 views
   */
  async save(projectId: number, call: SaveSessionViewCall, actor: Actor): Promise<SavedSessionView> {
    const { prisma, clock } = this.#options;
    const { id, name, query, is_default: isDefault } = call;
    const held = { name, query, isDefault, ...authorOf(actor) };
    const saved = await changeAlone(prisma, projectId, async (tx) => {
      const views = await tx.sessionView.findMany({ where: { projectId } });
      const namesake = views.find((view) => view.name === name && view.id !== id);
      if (namesake !== undefined)
        throw new PlimsollError("conflict", `There is already a view "${name}". Choose another name.`);
      const before = views.find((view) => view.id === id);
      if (before === undefined && views.length >= MOST_SAVED_VIEWS)
        throw new PlimsollError(
          "invalid_field",
          `A project has at most ${MOST_SAVED_VIEWS} views. Delete one that nobody uses.`,
        );
      if (isDefault)
        await tx.sessionView.updateMany({
          where: { projectId, isDefault: true, id: { not: id } },
          data: { isDefault: false },
        });
      const row = await tx.sessionView.upsert({
        where: { projectId_id: { projectId, id } },
        create: { projectId, id, createdAt: new Date(clock()), ...held },
        update: held,
      });
      const detail = before === undefined || before.name === name ? undefined : `was ${before.name}`;
      await addEntry(tx, clock(), {
        actor,
        action: "session_view_saved",
        projectId,
        target: name,
        ...(detail !== undefined && { detail }),
      });
      return row;
    });
    return viewOf(saved);
  }

  /** @throws PlimsollError `not_found` */
  async remove(projectId: number, id: string, actor: Actor): Promise<void> {
    const { prisma, clock } = this.#options;
    await changeAlone(prisma, projectId, async (tx) => {
      const [view] = await tx.sessionView.findMany({ where: { projectId, id } });
      if (view === undefined) throw new PlimsollError("not_found", `There is no view ${id}.`);
      await tx.sessionView.delete({ where: { projectId_id: { projectId, id } } });
      await addEntry(tx, clock(), { actor, action: "session_view_deleted", projectId, target: view.name });
    });
  }
}

function viewOf({ isDefault, createdAt, actorName, ...row }: SessionView): SavedSessionView {
  const { id, name, query, actor } = row;
  return { id, name, query, is_default: isDefault, created_at: iso(createdAt), actor, actor_name: actorName };
}
