import { type Budget, DEFAULT_PROJECT_ID, type ProjectView } from "@plimsoll/protocol/api";
import { money } from "@plimsoll/protocol/pure";
import type { Logger } from "pino";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import type { Project, ProjectDirectory } from "./directory.ts";

export interface ProjectsOptions {
  prisma: PrismaClient;
  directory: ProjectDirectory;
  log: Logger;
  /** Tells the other processes that the list of projects changed. */
  announce?: () => void;
  now?: () => number;
}

export type Projects = ReturnType<typeof createProjects>;

/** Creates, renames, archives and deletes projects. Every method leaves the directory of this process up to date. */
export function createProjects(options: ProjectsOptions) {
  const { prisma, directory, log, announce, now = Date.now } = options;

  function changed(): void {
    directory.forget();
    announce?.();
  }

  async function known(id: number): Promise<Project> {
    const project = await directory.get(id);
    if (!project) throw noProject(String(id));
    return project;
  }

  async function setArchived(id: number, archivedAt: Date | null, actor: Actor): Promise<void> {
    await prisma.$transaction(async (tx) => {
      const [row] = await tx.project.updateManyAndReturn({
        where: { id, deletingAt: null, archivedAt: archivedAt === null ? { not: null } : null },
        data: { archivedAt },
      });
      if (row === undefined) return;
      const action = archivedAt === null ? "project_unarchived" : "project_archived";
      await addEntry(tx, now(), { actor, action, projectId: id, target: row.name });
    });
    changed();
  }

  const view = async (id: number): Promise<ProjectView> => viewOf(await known(id));

  return {
    /** Makes all processes read the list of projects again. Call it after writing it by other means. */
    changed,

    /** Days for which the project keeps sessions, if it is known; null for good. */
    keptDays: (id: number): number | null => directory.recall(id)?.sessionDays ?? null,

    /** Oldest first. */
    async list(): Promise<ProjectView[]> {
      return (await directory.list()).map(viewOf);
    },

    /** @throws PlimsollError `not_found` */
    view,

    /** @throws PlimsollError `not_found` or `project_archived` */
    async requireOpen(id: number): Promise<void> {
      requireOpen(await known(id));
    },

    /** @throws PlimsollError `conflict` if the name is taken */
    async create(name: string, actor: Actor): Promise<ProjectView> {
      const row = await nameIsFree(
        name,
        prisma.$transaction(async (tx) => {
          const created = await tx.project.create({ data: { name, createdAt: new Date(now()) } });
          await addEntry(tx, now(), {
            actor,
            action: "project_created",
            projectId: created.id,
            target: name,
          });
          return created;
        }),
      );
      changed();
      log.info({ projectId: row.id, name }, "project created");
      return viewOf(row);
    },

    /** @throws PlimsollError `not_found`, or `conflict` if the name is taken */
    async rename(id: number, name: string, actor: Actor): Promise<ProjectView> {
      await nameIsFree(
        name,
        prisma.$transaction(async (tx) => {
          const [old] = await tx.$queryRaw<{ name: string }[]>`
            SELECT name FROM projects WHERE id = ${id} AND deleting_at IS NULL FOR UPDATE`;
          if (old === undefined || old.name === name) return;
          await tx.project.update({ where: { id }, data: { name } });
          const detail = `before: ${old.name}`;
          await addEntry(tx, now(), {
            actor,
            action: "project_renamed",
            projectId: id,
            target: name,
            detail,
          });
        }),
      );
      changed();
      return view(id);
    },

    /**
     * Makes the project refuse new events. Archiving twice keeps the first time.
     * @throws PlimsollError `not_found`, or `conflict` for the default project
     */
    async archive(id: number, actor: Actor): Promise<ProjectView> {
      refuseDefault(id, "archived");
      await setArchived(id, new Date(now()), actor);
      return view(id);
    },

    /** @throws PlimsollError `not_found` */
    async unarchive(id: number, actor: Actor): Promise<ProjectView> {
      await setArchived(id, null, actor);
      return view(id);
    },

    /**
     * Hides the names of people from each other while they are few, or shows them again.
     * @throws PlimsollError `not_found`
     */
    async hideNames(id: number, hidden: boolean, actor: Actor): Promise<ProjectView> {
      await prisma.$transaction(async (tx) => {
        const [row] = await tx.project.updateManyAndReturn({
          where: { id, deletingAt: null, hidesNames: !hidden },
          data: { hidesNames: hidden },
        });
        if (row === undefined) return;
        const action = hidden ? "names_hidden" : "names_shown";
        await addEntry(tx, now(), { actor, action, projectId: id, target: row.name });
      });
      changed();
      return view(id);
    },

    /** Sets what the project wants to spend a day; null clears it. */
    async setBudget(id: number, { usd }: Budget, actor: Actor): Promise<Budget> {
      await prisma.$transaction(async (tx) => {
        await tx.project.update({ where: { id }, data: { dailyBudgetUsd: usd } });
        const detail = usd === null ? "none" : `${money(usd)} a day`;
        await addEntry(tx, now(), { actor, action: "budget_set", projectId: id, detail });
      });
      return { usd };
    },

    /**
     * Marks the project for deletion and revokes its keys. Its rows are removed later, in bounded steps.
     * @param name the project's current name, as a confirmation
     * @throws PlimsollError `not_found`, `conflict` for the default project, `bad_request` for another name
     */
    async delete(id: number, name: string, actor: Actor): Promise<void> {
      refuseDefault(id, "deleted");
      const marked = await prisma.$transaction(async (tx) => {
        // The id as name: it frees the name for a new project, and no project can be given such a name.
        const marked = await tx.$executeRaw`
          UPDATE projects SET deleting_at = now(), name = id::text
          WHERE id = ${id} AND name = ${name} AND deleting_at IS NULL`;
        if (marked === 0) return false;
        const keys = await tx.$executeRaw`
          UPDATE api_keys SET revoked_at = now() WHERE project_id = ${id} AND revoked_at IS NULL`;
        const detail = `keys revoked: ${keys}`;
        await addEntry(tx, now(), { actor, action: "project_deleted", projectId: id, target: name, detail });
        return true;
      });
      changed();
      if (!marked) {
        const { name: current } = await view(id);
        throw new PlimsollError(
          "bad_request",
          `The name does not match. To delete project ${id}, give its name: ${current}`,
        );
      }
      log.info({ projectId: id, name }, "project marked for deletion");
    },
  };
}

export function noProject(reference: string): PlimsollError {
  return new PlimsollError("not_found", `There is no project ${reference}.`);
}

/** @throws PlimsollError `project_archived` */
export function requireOpen({ name, archivedAt }: Project): void {
  if (archivedAt === null) return;
  throw new PlimsollError(
    "project_archived",
    `The project ${name} is archived and takes no new events. Unarchive it under Setup, or with \`npx plimsoll project unarchive\`.`,
    { details: { archived_at: archivedAt.toISOString() } },
  );
}

function refuseDefault(id: number, what: "archived" | "deleted"): void {
  if (id !== DEFAULT_PROJECT_ID) return;
  throw new PlimsollError("conflict", `The default project cannot be ${what}. It can be renamed.`);
}

async function nameIsFree<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "P2002") throw cause;
    throw new PlimsollError("conflict", `A project named ${name} already exists. Choose another name.`, {
      cause,
    });
  }
}

function viewOf({ id, name, createdAt, archivedAt, hidesNames }: Project): ProjectView {
  return {
    id,
    name,
    is_default: id === DEFAULT_PROJECT_ID,
    created_at: createdAt.toISOString(),
    archived_at: archivedAt?.toISOString() ?? null,
    hides_names: hidesNames,
  };
}
