import type { SavedMapping } from "@plimsoll/protocol/api";
import {
  type CompiledMapping,
  compileMapping,
  MOST_MAPPINGS,
  type RecordMapping,
  readMapping,
} from "@plimsoll/protocol/mapping";
import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";
import type { LiveHub } from "../live/hub.ts";
import { storedMappings } from "../read/unmapped.ts";
import { type Actor, addEntry } from "../tenants/audit/entry.ts";
import { changeAlone } from "../tenants/projects/change-project.ts";
import { iso } from "../times.ts";

export interface MappingsOptions {
  prisma: PrismaClient;
  hub: Pick<LiveHub, "mappingsChanged" | "onMappingsChanged" | "onProjectsChanged">;
  log: Logger;
  /** Epoch ms. */
  clock: () => number;
}

/** Milliseconds after which cached mappings are read again, in case a message was lost. */
const TRUST_MS = 30_000;

/** The mappings of all projects for records that no dialect knows, cached in memory. */
export class Mappings {
  readonly #options: MappingsOptions;
  readonly #known = new Map<number, { mappings: readonly CompiledMapping[]; readAt: number }>();
  readonly #reads = new Map<number, Promise<readonly CompiledMapping[]>>();
  readonly #stopHearing: (() => void)[];

  constructor(options: MappingsOptions) {
    this.#options = options;
    const { hub } = options;
    this.#stopHearing = [
      hub.onMappingsChanged((projectId) => this.#forget(projectId)),
      hub.onProjectsChanged(() => this.#forget(null)),
    ];
  }

  /**
   * The mappings of a project in the order in which they are asked. Reads them if none are cached.
   * @throws errors of the database
   */
  async of(projectId: number): Promise<readonly CompiledMapping[]> {
    const known = this.#known.get(projectId);
    if (known !== undefined && performance.now() - known.readAt < TRUST_MS) return known.mappings;
    return this.#reads.get(projectId) ?? this.#read(projectId);
  }

  /** By name, straight from the database. */
  async list(projectId: number): Promise<SavedMapping[]> {
    const rows = await storedMappings(this.#options.prisma, projectId);
    return rows.flatMap(({ body, updatedAt }) => {
      const read = readMapping(body);
      return read.ok ? [{ mapping: read.mapping, updated_at: iso(updatedAt) }] : [];
    });
  }

  /**
   * Creates a mapping, or replaces the one of this name.
   * @throws PlimsollError `invalid_field` if there are 50 mappings
   */
  async save(projectId: number, mapping: RecordMapping, actor: Actor): Promise<SavedMapping> {
    const { prisma, clock } = this.#options;
    const { name } = mapping;
    const updatedAt = new Date(clock());
    await changeAlone(prisma, projectId, async (tx) => {
      const others = await tx.recordMapping.count({ where: { projectId, name: { not: name } } });
      if (others >= MOST_MAPPINGS)
        throw new PlimsollError(
          "invalid_field",
          `A project has at most ${MOST_MAPPINGS} mappings. Remove one that nobody uses.`,
        );
      await tx.recordMapping.upsert({
        where: { projectId_name: { projectId, name } },
        create: { projectId, name, body: mapping, updatedAt },
        update: { body: mapping, updatedAt },
      });
      await addEntry(tx, clock(), { actor, action: "mapping_saved", projectId, target: name });
    });
    this.#changed(projectId);
    return { mapping, updated_at: iso(updatedAt) };
  }

  /** @throws PlimsollError `not_found` */
  async remove(projectId: number, name: string, actor: Actor): Promise<void> {
    const { prisma, clock } = this.#options;
    await changeAlone(prisma, projectId, async (tx) => {
      const { count } = await tx.recordMapping.deleteMany({ where: { projectId, name } });
      if (count === 0) throw new PlimsollError("not_found", "There is no mapping of this name.");
      await addEntry(tx, clock(), { actor, action: "mapping_removed", projectId, target: name });
    });
    this.#changed(projectId);
  }

  /** Drops the cache after projects were restored. */
  clear(): void {
    this.#forget(null);
  }

  stop(): void {
    for (const stop of this.#stopHearing) stop();
  }

  #changed(projectId: number): void {
    this.#forget(projectId);
    this.#options.hub.mappingsChanged(projectId);
  }

  /** A read that is under way is returned to its callers but not cached. */
  #forget(projectId: number | null): void {
    for (const cache of [this.#known, this.#reads]) {
      if (projectId === null) cache.clear();
      else cache.delete(projectId);
    }
  }

  #read(projectId: number): Promise<readonly CompiledMapping[]> {
    const readAt = performance.now();
    const reading = this.#compiled(projectId)
      .then((mappings) => {
        if (this.#reads.get(projectId) === reading) this.#known.set(projectId, { mappings, readAt });
        return mappings;
      })
      .finally(() => {
        if (this.#reads.get(projectId) === reading) this.#reads.delete(projectId);
      });
    this.#reads.set(projectId, reading);
    return reading;
  }

  async #compiled(projectId: number): Promise<CompiledMapping[]> {
    const { prisma, log } = this.#options;
    const rows = await storedMappings(prisma, projectId);
    return rows.flatMap(({ name, body }) => {
      const read = readMapping(body);
      if (read.ok) return [compileMapping(read.mapping)];
      log.warn({ projectId, name, mistakes: read.mistakes }, "a mapping of another version is not applied");
      return [];
    });
  }
}
