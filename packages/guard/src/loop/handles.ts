import type { Json } from "./state.ts";

/** How to open, check and close something that outlives a context: a cloned repository, a running server. */
export interface HandleKind<T, D extends Json = Json> {
  /** Makes it. `data` is stored and must be enough to take it up again in another process. */
  open(): Promise<{ value: T; data: D }> | { value: T; data: D };
  /** Takes it up again; undefined when it is gone, and then it is opened anew. */
  attach(data: D): Promise<T | undefined> | T | undefined;
  close?(value: T): Promise<void> | void;
}

/** The handles of one loop: opened once, the same in every sub-tick, taken up again after a crash. */
export class Handles {
  readonly #stored: Record<string, Json>;
  readonly #save: () => Promise<void>;
  readonly #open = new Map<string, Promise<{ value: unknown; close: () => Promise<void> | void }>>();

  constructor(stored: Record<string, Json>, save: () => Promise<void>) {
    this.#stored = stored;
    this.#save = save;
  }

  async use<T, D extends Json>(name: string, kind: HandleKind<T, D>): Promise<T> {
    let held = this.#open.get(name);
    if (held === undefined) {
      held = this.#take(name, kind);
      // Held at once: two that ask together must not open two.
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
      // Written at once: a handle that nobody remembers is a leak.
      await this.#save();
    }
    const held: T = value;
    return { value: held, close: () => kind.close?.(held) };
  }

  /** Closes what this process holds. Every handle is tried; the first failure is thrown afterwards. */
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
