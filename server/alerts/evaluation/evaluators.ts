import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Writers } from "../../db/sql.ts";
import type { PolicyBook } from "../../lines/policy-book.ts";
import type { LiveHub } from "../../live/hub.ts";
import { Evaluator, TICK_MS } from "./evaluator.ts";

export interface EvaluatorsOptions {
  writers: Writers;
  hub: Pick<LiveHub, "subscribe" | "changed">;
  policyOf: (projectId: number) => Promise<PolicyBook>;
  /** Called after a commit that added deliveries. */
  enqueued: () => void;
  log: Logger;
}

const WITH_RULES = "SELECT id FROM projects WHERE alerting AND deleting_at IS NULL ORDER BY id";

/** The evaluators of this process: one a project with rules, each at work only while it holds the project's lease. */
export class Evaluators {
  readonly #options: EvaluatorsOptions;
  readonly #holder = randomUUID();
  readonly #evaluators = new Map<number, { evaluator: Evaluator; unsubscribe: () => void }>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: EvaluatorsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** The rules, the silences or an acknowledgement of a project changed. */
  changed(projectId: number): void {
    if (!this.#stop.signal.aborted) this.#of(projectId).wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all([...this.#evaluators.keys()].map((projectId) => this.#close(projectId)));
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#sweep().catch((err: unknown) =>
        log.debug({ err }, "the projects with alert rules could not be read"),
      );
      await sleep(TICK_MS, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
    }
  }

  async #sweep(): Promise<void> {
    const rows = await this.#options.writers.query<{ id: number }>(WITH_RULES);
    const wanted = new Set(rows.map(({ id }) => id));
    for (const projectId of [...this.#evaluators.keys()])
      if (!wanted.has(projectId)) await this.#close(projectId);
    for (const projectId of wanted) this.#of(projectId).wake();
  }

  #of(projectId: number): Evaluator {
    let known = this.#evaluators.get(projectId);
    if (known === undefined) {
      const { writers, policyOf, enqueued, log, hub } = this.#options;
      const evaluator = new Evaluator({
        projectId,
        writers,
        holder: this.#holder,
        policyOf,
        enqueued,
        changed: (id, sessions) => hub.changed(id, sessions),
        log,
      });
      const unsubscribe = hub.subscribe(projectId, () => {
        // Only the holder needs to evaluate; the sweep finds out who becomes it.
        if (evaluator.holding) evaluator.wake();
      });
      known = { evaluator, unsubscribe };
      this.#evaluators.set(projectId, known);
    }
    return known.evaluator;
  }

  async #close(projectId: number): Promise<void> {
    const known = this.#evaluators.get(projectId);
    this.#evaluators.delete(projectId);
    known?.unsubscribe();
    await known?.evaluator.close();
  }
}
