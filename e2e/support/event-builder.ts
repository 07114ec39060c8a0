import type { PlimsollEventInput } from "@plimsoll/protocol/events";

type Fields = Record<string, unknown>;

export interface EventBuilderOptions {
  harness: string;
  session: string;
  agent?: string;
  parent?: string;
  model?: string;
  /** Reported window size in tokens; absent if the harness does not report it. */
  window?: number;
  /** Epoch ms of the first event. */
  start?: number;
  /** Milliseconds from one event to the next. */
  pace?: number;
}

/** Builds the events of one agent, as its harness would send them. */
export class EventBuilder {
  readonly events: PlimsollEventInput[] = [];
  #at: number;
  #taken = 0;
  readonly #options: EventBuilderOptions;

  constructor(options: EventBuilderOptions) {
    this.#options = options;
    this.#at = options.start ?? Date.now() - 10 * 60_000;
  }

  /** Epoch ms of the next event. */
  get at(): number {
    return this.#at;
  }

  /** Adds a turn with this many context tokens. */
  turn(tokens: number, fields: Fields = {}): this {
    const { model = "claude-opus-4-6", window } = this.#options;
    const fresh = Math.min(tokens, 900);
    return this.event("turn", {
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

  /** Adds one turn per level. */
  turns(...levels: number[]): this {
    for (const level of levels) this.turn(level);
    return this;
  }

  /** Adds an event of any type. */
  event(type: string, fields: Fields = {}): this {
    const { harness, session, agent, parent, pace = 5_000 } = this.#options;
    const built = {
      id: `${agent ?? "main"}-${this.events.length}`,
      type,
      at: Math.round(this.#at),
      harness,
      session,
      ...(agent === undefined ? {} : { agent }),
      ...(parent === undefined ? {} : { parent_agent: parent }),
      ...fields,
    };
    this.events.push(built as PlimsollEventInput);
    this.#at += pace;
    return this;
  }

  /** Advances the time of the next event. */
  pause(ms: number): this {
    this.#at += ms;
    return this;
  }

  /** Returns the events added since the last call. */
  take(): PlimsollEventInput[] {
    const from = this.#taken;
    this.#taken = this.events.length;
    return this.events.slice(from);
  }
}
