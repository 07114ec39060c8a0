import type { Section } from "./section.ts";

/** Replaces `expect` with `next`, if the prompt still holds `expect` itself. */
export interface Swap {
  expect: Section;
  next: Section;
}

/**
 * Intermediate representation of a prompt: a list of sections that the agent appends to while a watcher compacts it.
 * The watcher writes by compare and swap, so it never overwrites a concurrent change.
 * @example
 * const prompt = new PromptIr([{ id: "task", label: "task", content, tokens: 120, priority: "critical" }]);
 * prompt.put({ id: "log", label: "build log", content: log, tokens: 700, priority: "low" });
 */
export class PromptIr {
  readonly #sections = new Map<string, Section>();
  #total = 0;
  #version = 0;
  #list: readonly Section[] | undefined;

  constructor(sections: readonly Section[] = []) {
    for (const section of sections) this.put(section);
  }

  /** Tokens of all sections. */
  get total(): number {
    return this.#total;
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** Number of sections. */
  get size(): number {
    return this.#sections.size;
  }

  /** The sections in insertion order. The returned list never changes. */
  sections(): readonly Section[] {
    this.#list ??= [...this.#sections.values()];
    return this.#list;
  }

  get(id: string): Section | undefined {
    return this.#sections.get(id);
  }

  /** Appends a section, or replaces the section with the same id. */
  put(section: Section): void {
    this.#total += section.tokens - (this.#sections.get(section.id)?.tokens ?? 0);
    this.#sections.set(section.id, section);
    this.#changed();
  }

  /** Removes a section. Returns false if it does not exist. */
  remove(id: string): boolean {
    const section = this.#sections.get(id);
    if (section === undefined) return false;
    this.#sections.delete(id);
    this.#total -= section.tokens;
    this.#changed();
    return true;
  }

  /** Applies each swap whose `expect` is still current. Returns the applied swaps. */
  swap(swaps: readonly Swap[]): Swap[] {
    const held: Swap[] = [];
    for (const swap of swaps) {
      if (this.#sections.get(swap.expect.id) !== swap.expect) continue;
      this.#sections.set(swap.next.id, swap.next);
      this.#total += swap.next.tokens - swap.expect.tokens;
      held.push(swap);
    }
    if (held.length > 0) this.#changed();
    return held;
  }

  #changed(): void {
    this.#version++;
    this.#list = undefined;
  }
}
