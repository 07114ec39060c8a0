/** How many rows were added on each UTC day. */
export class NewRows {
  readonly #rows = new Map<number, number>();

  /** @param day its start, epoch ms */
  of(day: number): number {
    return this.#rows.get(day) ?? 0;
  }

  add(day: number, rows = 1): void {
    this.#rows.set(day, this.of(day) + rows);
  }
}
