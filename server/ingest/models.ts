import { Prisma, type PrismaClient } from "../db/client.ts";
import { modelNumber } from "./identity.ts";

/** Gives every model name a number within its project, the same in every process. */
export class ModelNumbers {
  readonly #prisma: PrismaClient;
  readonly #projects = new Map<number, { numbers: Map<string, number>; names: Map<number, string> }>();

  constructor(prisma: PrismaClient) {
    this.#prisma = prisma;
  }

  number(projectId: number, name: string): number {
    const number = this.#projects.get(projectId)?.numbers.get(name);
    if (number === undefined) throw new Error(`model ${name} was not prepared`);
    return number;
  }

  /** The name behind a number, bound so that it can be handed on. */
  readonly name = (projectId: number, number: number): string => {
    const name = this.#projects.get(projectId)?.names.get(number);
    if (name === undefined) throw new Error(`model ${number} of project ${projectId} is not known`);
    return name;
  };

  /** Makes sure every name has a number before a transaction needs it. */
  async prepare(names: Iterable<readonly [projectId: number, name: string]>): Promise<void> {
    for (const [projectId, name] of names) {
      if (this.#projects.get(projectId)?.numbers.has(name) !== true) await this.#allot(projectId, name);
    }
  }

  /** Learns the project's numbers when these hold one that only another process has met so far. */
  async learn(numbers: Iterable<readonly [projectId: number, number: number]>): Promise<void> {
    for (const [projectId, number] of numbers) {
      if (this.#projects.get(projectId)?.names.has(number) !== true) await this.load(projectId);
    }
  }

  /** Learns every number of a project, such as those another process gave. */
  async load(projectId: number): Promise<void> {
    const models = await this.#prisma.model.findMany({ where: { projectId } });
    for (const model of models) this.#keep(projectId, model.name, model.id);
  }

  async #allot(projectId: number, name: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const known = await this.#prisma.model.findUnique({ where: { projectId_name: { projectId, name } } });
      if (known !== null) return this.#keep(projectId, name, known.id);
      try {
        // Two names that hash alike: the second takes its next number.
        await this.#prisma.model.create({ data: { projectId, id: modelNumber(name, attempt), name } });
      } catch (error) {
        if (!(error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2002")) throw error;
      }
    }
  }

  #keep(projectId: number, name: string, number: number): void {
    let project = this.#projects.get(projectId);
    if (project === undefined) {
      project = { numbers: new Map(), names: new Map() };
      this.#projects.set(projectId, project);
    }
    project.numbers.set(name, number);
    project.names.set(number, name);
  }
}
