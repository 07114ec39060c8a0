import type { Json } from "./state.ts";

/**
 * Opens, reattaches and closes a resource that outlives a context, such as a cloned repository or a running server.
 */
export interface HandleKind<T, D extends Json = Json> {
  /** Opens the resource. `data` is stored and must be enough to reattach in another process. */
  open(): Promise<{ value: T; data: D }> | { value: T; data: D };
  /** Reattaches to the resource. Return `undefined` if it is gone; it is then opened again. */
  attach(data: D): Promise<T | undefined> | T | undefined;
  /** Closes the resource when the loop ends. */
  close?(value: T): Promise<void> | void;
}

/** The handles of one loop. Each is opened once, shared by all sub-ticks, and reattached after a crash. */
export class Handles {
  readonly #stored: Record<string, Json>;
  readonly #save: () => Promise<void>;
  readonly #open = new Map<string, Promise<{ value: unknown; close: () => Promise<void> | void }>>();

  constructor(stored: Record<string, Json>, save: () => Promise<void>) {
    this.#stored = stored;
    this.#save = save;
  }

  /** Returns the resource called `name`, and opens or reattaches to it on first use. */
  async use<T, D extends Json>(name: string, kind: HandleKind<T, D>): Promise<T> {
    let held = this.#open.get(name);
    if (held === undefined) {
      held = this.#take(name, kind);
      // Store the promise at once, so that two concurrent calls open one resource.
      this.#open.set(name, held);
      held.catch(() => this.#open.delete(name));
    }
    return (await held).value as T;
  }

  async #take<T, D extends Json>(name: string, kind: HandleKind<T, D>) {
    const stored = this.#stored[name];
    let value = stored === undefined ? undefined : ((await kind.attach(stored as D)) as T | undefined);
    if (value === undefined) {
      const made = await kind.open();
      value = made.value;
      this.#stored[name] = made.data;
      // Store it at once, so that a crash does not leak it.
      await this.#save();
    }
    const held: T = value;
    return { value: held, close: () => kind.close?.(held) };
  }

  /** Closes the handles that this process holds. Tries all of them, then throws the first error. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const [name, handle] of this.#open) {
      try {
        await (await handle).close();
        delete this.#stored[name];
      } catch (error) {
        failures.push(error);
      }
    }
    this.#open.clear();
    if (failures.length > 0) throw failures[0];
  }
}
