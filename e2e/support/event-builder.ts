import type { PlimsollEventInput } from "@plimsoll/protocol";

type Fields = Record<string, unknown>;

export interface StoryOptions {
  harness: string;
  session: string;
  agent?: string;
  parent?: string;
  model?: string;
  /** Reported window size; left out when the harness does not know it. */
  window?: number;
  /** Epoch ms of the first event. */
  start?: number;
  /** Milliseconds from one event to the next. */
  pace?: number;
}

/** What one agent does, as the events its harness would send. */
export class EventBuilder {
  readonly events: PlimsollEventInput[] = [];
  #at: number;
  #taken = 0;
  readonly #options: StoryOptions;

  constructor(options: StoryOptions) {
    this.#options = options;
    this.#at = options.start ?? Date.now() - 10 * 60_000;
  }

  /** Epoch ms of the next event. */
  get at(): number {
    return this.#at;
  }

  /** One inference call whose prompt fills the window up to `tokens`. */
  turn(tokens: number, fields: Fields = {}): this {
    const { model = "claude-opus-4-6", window } = this.#options;
    const fresh = Math.min(tokens, 900);
    return this.mark("turn", {
      model,
      usage: {
        input_tokens: fresh,
        cache_read_tokens: tokens - fresh,
        output_tokens: 300,
        basis: "exclusive",
      },
      ...(window === undefined ? {} : { context_window: window }),
      ...fields,
    });
  }

  turns(...levels: number[]): this {
    for (const level of levels) this.turn(level);
    return this;
  }

  mark(type: string, fields: Fields = {}): this {
    const { harness, session, agent, parent, pace = 5_000 } = this.#options;
    const event = {
      id: `${agent ?? "main"}-${this.events.length}`,
      type,
      at: Math.round(this.#at),
      harness,
      session,
      ...(agent === undefined ? {} : { agent }),
      ...(parent === undefined ? {} : { parent_agent: parent }),
      ...fields,
    };
    this.events.push(event as PlimsollEventInput);
    this.#at += pace;
    return this;
  }

  /** Lets time pass. */
  pause(ms: number): this {
    this.#at += ms;
    return this;
  }

  /** What was told since the last call. */
  take(): PlimsollEventInput[] {
    const from = this.#taken;
    this.#taken = this.events.length;
    return this.events.slice(from);
  }
}
