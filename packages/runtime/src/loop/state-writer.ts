import type { LoopState, LoopStore } from "./state.ts";

/** Writes the state of a loop, one version at a time, so that an older one never overwrites a newer one. */
export class StateWriter {
  readonly #store: LoopStore;
  readonly #state: LoopState;
  #saving: Promise<void> = Promise.resolve();
  #due = false;
  #failed: { error: unknown } | undefined;

  constructor(store: LoopStore, state: LoopState) {
    this.#store = store;
    this.#state = state;
  }

  /** Writes the state. Throws the error of an earlier write in the background. */
  save(): Promise<void> {
    const next = this.#saving.then(() => {
      if (this.#failed !== undefined) throw this.#failed.error;
      this.#due = false;
      return this.#store.write(this.#state);
    });
    this.#saving = next.catch(() => {});
    return next;
  }

  /** Writes in the background during a tick, with at most one write waiting. */
  saveSoon(): void {
    if (this.#due) return;
    this.#due = true;
    this.save().catch((error: unknown) => {
      this.#failed ??= { error };
    });
  }
}
