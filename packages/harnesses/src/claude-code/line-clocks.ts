/**
 * A smaller step back is a delay of writing. A larger one is left as it is: what is moved further could lie more than 5 minutes ahead
 * of the server, which refuses that.
 */
const LEAST_STEP_MS = 30_000;
const MOST_STEP_MS = 290_000;

/** A line of a transcript: each names the line before it. Time in epoch ms. */
interface ChainedLine {
  uuid: string | undefined;
  parent: string | undefined;
  at: number;
}

/**
 * The times of lines whose session went on at a machine with another clock. A line never comes before the one that it follows: if its
 * time lies minutes before, it and what follows are as much later, and the time between them stays.
 */
export class LineClocks {
  /** By uuid, as written. */
  readonly #written = new Map<string, number>();
  /** How much later a line is than written, in ms, where it is. */
  readonly #later = new Map<string, number>();

  timeOf({ uuid, parent, at }: ChainedLine): number {
    const known = uuid === undefined ? undefined : this.at(uuid);
    if (known !== undefined) return known;
    const later = this.#laterThanWritten(parent, at);
    if (uuid !== undefined) {
      this.#written.set(uuid, at);
      if (later > 0) this.#later.set(uuid, later);
    }
    return at + later;
  }

  /** The time of a line that was read, epoch ms. */
  at(uuid: string): number | undefined {
    const written = this.#written.get(uuid);
    return written === undefined ? undefined : written + (this.#later.get(uuid) ?? 0);
  }

  #laterThanWritten(parent: string | undefined, at: number): number {
    const before = parent === undefined ? undefined : this.#written.get(parent);
    if (before === undefined) return 0;
    const later = this.#later.get(parent!) ?? 0;
    const step = before - at;
    if (step >= LEAST_STEP_MS && step <= MOST_STEP_MS) return later + step + 1;
    // Back at a machine whose clock is ahead, the times are right again.
    return at >= before + later ? 0 : later;
  }
}
