import { DEFAULT_PROJECT_ID, type ProjectView } from "@plimsoll/protocol";
import type { Logger } from "pino";
import type { PrismaClient } from "../db/index.ts";
import { PlimsollError } from "../errors.ts";
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

  const view = async (id: number): Promise<ProjectView> => viewOf(await known(id));

  return {
    /** Makes all processes read the list of projects again. Call it after writing it by other means. */
    changed,

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
    async create(name: string): Promise<ProjectView> {
      const row = await nameIsFree(
        name,
        prisma.project.create({ data: { name, createdAt: new Date(now()) } }),
      );
      changed();
      log.info({ projectId: row.id, name }, "project created");
      return viewOf(row);
    },

    /** @throws PlimsollError `not_found`, or `conflict` if the name is taken */
    async rename(id: number, name: string): Promise<ProjectView> {
      await nameIsFree(name, prisma.project.updateMany({ where: { id, deletingAt: null }, data: { name } }));
      changed();
      return view(id);
    },

    /**
     * Makes the project refuse new events. Archiving twice keeps the first time.
     * @throws PlimsollError `not_found`, or `conflict` for the default project
     */
    async archive(id: number): Promise<ProjectView> {
      refuseDefault(id, "archived");
      await prisma.project.updateMany({
        where: { id, deletingAt: null, archivedAt: null },
        data: { archivedAt: new Date(now()) },
      });
      changed();
      return view(id);
    },

    /** @throws PlimsollError `not_found` */
    async unarchive(id: number): Promise<ProjectView> {
      await prisma.project.updateMany({ where: { id, deletingAt: null }, data: { archivedAt: null } });
      changed();
      return view(id);
    },

    /**
     * Marks the project for deletion and revokes its keys. Its rows are removed later, in bounded steps.
     * @param name the project's current name, as a confirmation
     * @throws PlimsollError `not_found`, `conflict` for the default project, `bad_request` for another name
     */
    async delete(id: number, name: string): Promise<void> {
      refuseDefault(id, "deleted");
      // The id as name: it frees the name for a new project, and no project can be given such a name.
      const [marked] = await prisma.$transaction([
        prisma.$executeRaw`
          UPDATE projects SET deleting_at = now(), name = id::text
          WHERE id = ${id} AND name = ${name} AND deleting_at IS NULL`,
        prisma.$executeRaw`
          UPDATE api_keys SET revoked_at = now() WHERE project_id = ${id} AND revoked_at IS NULL
            AND EXISTS (SELECT 1 FROM projects WHERE id = ${id} AND deleting_at IS NOT NULL)`,
      ]);
      changed();
      if (marked === 0) {
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
    `The project ${name} is archived and takes no new events. Unarchive it under Setup, or with \`plimsoll project unarchive\`.`,
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

function viewOf({ id, name, createdAt, archivedAt }: Project): ProjectView {
  return {
    id,
    name,
    is_default: id === DEFAULT_PROJECT_ID,
    created_at: createdAt.toISOString(),
    archived_at: archivedAt?.toISOString() ?? null,
  };
}
