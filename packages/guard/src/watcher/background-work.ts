/** What became of a piece of work. */
export type WorkOutcome<T> =
  | { kind: "done"; value: T }
  | { kind: "failed"; error: unknown }
  /** Nobody needs its result any longer. */
  | { kind: "dropped" };

/** Calls of a summariser that are under way. Each has a signal, a time limit, and a key by which it can be dropped. */
export class BackgroundWork<K> {
  readonly #open = new Map<AbortController, { key: K; drop: () => void }>();

  /**
   * Calls `work`. A result that is not a promise is returned as it is, and what `work` throws at once is thrown. The
   * returned promise never rejects, and does not wait for work that ignores its signal.
   * @param patienceMs time limit in ms
   */
  call<T>(
    key: K,
    patienceMs: number,
    work: (signal: AbortSignal) => Promise<T> | T,
  ): T | Promise<WorkOutcome<T>> {
    const controller = new AbortController();
    const made = work(controller.signal);
    return isPromise(made) ? this.#outcome(key, patienceMs, controller, made) : made;
  }

  /** Aborts the work that is stale. */
  drop(isStale: (key: K) => boolean): void {
    for (const { key, drop } of [...this.#open.values()]) if (isStale(key)) drop();
  }

  async #outcome<T>(
    key: K,
    patienceMs: number,
    controller: AbortController,
    made: PromiseLike<T>,
  ): Promise<WorkOutcome<T>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ended = new Promise<WorkOutcome<T>>((resolve) => {
      const end = (outcome: WorkOutcome<T>, reason: Error) => {
        resolve(outcome);
        controller.abort(reason);
      };
      timer = setTimeout(() => {
        const error = new Error(`The summariser did not finish within ${patienceMs} ms`);
        end({ kind: "failed", error }, error);
      }, patienceMs);
      const drop = () =>
        end({ kind: "dropped" }, new Error("The text to shorten is no longer in the prompt."));
      this.#open.set(controller, { key, drop });
    });
    const finished = Promise.resolve(made).then(
      (value): WorkOutcome<T> => ({ kind: "done", value }),
      (error: unknown): WorkOutcome<T> => ({ kind: "failed", error }),
    );
    const outcome = await Promise.race([ended, finished]);
    clearTimeout(timer);
    this.#open.delete(controller);
    return outcome;
  }
}

function isPromise<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === "function";
}
