import type { PrismaClient } from "../../db/index.ts";

/** A project that is not being deleted. */
export interface Project {
  id: number;
  name: string;
  createdAt: Date;
  /** Null while the project takes events. */
  archivedAt: Date | null;
  /** Days for which sessions are kept. Null: for good. */
  sessionDays: number | null;
  /** See server/tenants/people/shown-names.ts. */
  hidesNames: boolean;
}

export interface DirectoryOptions {
  prisma: PrismaClient;
  /** Milliseconds. */
  now?: () => number;
}

export type ProjectDirectory = ReturnType<typeof createDirectory>;

/** How long a loaded list is trusted, in ms. Changes are announced; this limits the damage of a lost announcement. */
const TRUST_MS = 30_000;

/**
 * All projects, cached in memory. Every request needs its project, projects are few, and they change rarely.
 * A project that is missing from the cache is looked up in the database before it counts as unknown.
 */
export function createDirectory({ prisma, now = Date.now }: DirectoryOptions) {
  let known: ReadonlyMap<number, Project> | undefined;
  let loadedAt = 0;
  let loading: Promise<ReadonlyMap<number, Project>> | undefined;

  async function read(): Promise<ReadonlyMap<number, Project>> {
    const rows = await prisma.project.findMany({
      where: { deletingAt: null },
      select: {
        id: true,
        name: true,
        createdAt: true,
        archivedAt: true,
        sessionDays: true,
        hidesNames: true,
      },
      orderBy: { id: "asc" },
    });
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** One query at a time. A result requested before `forget` is returned to its callers but not cached. */
  function load(): Promise<ReadonlyMap<number, Project>> {
    if (loading) return loading;
    const startedAt = now();
    const current = read()
      .then((projects) => {
        if (loading !== current) return projects;
        known = projects;
        loadedAt = startedAt;
        return projects;
      })
      .finally(() => {
        if (loading === current) loading = undefined;
      });
    loading = current;
    return current;
  }

  function fresh(): ReadonlyMap<number, Project> | undefined {
    return known !== undefined && now() - loadedAt < TRUST_MS ? known : undefined;
  }

  /** The project if it is cached. Needs no query, so it suits the hot path. */
  function recall(id: number): Project | undefined {
    return fresh()?.get(id);
  }

  return {
    recall,

    /** @returns undefined if the project does not exist or is being deleted */
    async get(id: number): Promise<Project | undefined> {
      return recall(id) ?? (await load()).get(id);
    },

    /** Looks a project up by id or name. */
    async find(reference: string): Promise<Project | undefined> {
      return pick(fresh(), reference) ?? pick(await load(), reference);
    },

    /** Oldest first, straight from the database. */
    async list(): Promise<Project[]> {
      return [...(await read()).values()];
    },

    /** Drops the cache. Call it after any change. */
    forget(): void {
      known = undefined;
      loading = undefined;
    },
  };
}

/** Names never consist of digits alone, so a reference has one meaning. */
function pick(projects: ReadonlyMap<number, Project> | undefined, reference: string): Project | undefined {
  if (projects === undefined) return undefined;
  if (/^\d+$/.test(reference)) return projects.get(Number(reference));
  for (const project of projects.values()) if (project.name === reference) return project;
  return undefined;
}
