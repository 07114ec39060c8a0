import type { Section } from "./section.ts";

/** One replacement: it holds only if the section is still the very one that was read. */
export interface Swap {
  expect: Section;
  next: Section;
}

/**
 * The sections of a prompt, shared by those who append and the watcher that compacts. Every write compares with what
 * was read, so an append or change made while a compaction was under way is never lost.
 */
export class PromptIr {
  readonly #sections = new Map<string, Section>();
  #total = 0;
  #version = 0;
  #list: readonly Section[] | undefined;

  constructor(sections: readonly Section[] = []) {
    for (const section of sections) this.put(section);
  }

  /** Sum over the sections, tokens. */
  get total(): number {
    return this.#total;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#sections.size;
  }

  /** The sections in the order they were added. The list is a snapshot: it never changes afterwards. */
  sections(): readonly Section[] {
    this.#list ??= [...this.#sections.values()];
    return this.#list;
  }

  get(id: string): Section | undefined {
    return this.#sections.get(id);
  }

  /** Appends a section, or replaces the one with its id. */
  put(section: Section): void {
    this.#total += section.tokens - (this.#sections.get(section.id)?.tokens ?? 0);
    this.#sections.set(section.id, section);
    this.#changed();
  }

  remove(id: string): boolean {
    const section = this.#sections.get(id);
    if (section === undefined) return false;
    this.#sections.delete(id);
    this.#total -= section.tokens;
    this.#changed();
    return true;
  }

  /** Compare and swap, section by section; gives back those that held. */
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
