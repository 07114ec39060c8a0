import { backoffMs } from "@plimsoll/protocol/pure";
import { backgroundTimer } from "../background-timer.ts";
import { followStream, MOST_WAIT_MS } from "../http/follow-stream.ts";
import { type Fetched, fetchPolicy, get, type PolicyReader, type ServerAccess } from "./fetch-policy.ts";

/** Durations in ms. */
export interface SubscriptionOptions extends PolicyReader {
  access: ServerAccess;
  pollMs: number;
  retryMs: number;
  refusedMs: number;
  silentMs: number;
  random: () => number;
  /** The hash to ask with, while nothing newer than it is known. */
  tag: () => string | undefined;
  /** Takes what the server answered. */
  take: (fetched: Fetched) => Promise<Taken>;
}

/** What became of an answer. */
export type Taken =
  /** The server has to send the body, although the hash is the same. */
  | "needs_body"
  /** There was no policy in it: ask again as after a failure. */
  | "no_policy"
  | "taken";

type Ask = "tagged" | "whole";

/** While the stream is open, a rare poll finds a notice that was lost. In ms. */
const STREAMING_POLL_MS = 600_000;

/** Keeps asking for the policy: when the stream says so, else in intervals. Never keeps the process alive. */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #stop = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> | undefined;
  /** Asked for while a request was under way. */
  #again: Ask | undefined;
  #failures = 0;
  /** The newest generation that an answer named. */
  #newest: number | undefined;
  #streaming = false;
  /** On the clock of `performance`, which never jumps. */
  #notBefore = 0;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  start(): void {
    void this.ask("tagged");
    void this.#stream();
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  /**
   * Asks now, unless the server said to wait. Requests that come while one is under way become one more.
   * @param how `whole`: the answer must have a body, even if the hash is the same
   */
  ask(how: Ask): Promise<void> {
    if (this.#asking !== undefined) {
      if (how === "whole") this.#again = how;
      else this.#again ??= how;
      return this.#asking;
    }
    const wait = this.#notBefore - performance.now();
    if (wait > 0) {
      this.#later(wait);
      return Promise.resolve();
    }
    this.#asking = this.#request(how).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #request(first: Ask): Promise<void> {
    const { access, tag, take, pollMs } = this.#options;
    for (let how: Ask | undefined = first; how !== undefined; ) {
      this.#again = undefined;
      const sent: string | undefined = how === "whole" ? undefined : tag();
      const fetched = await fetchPolicy(access, this.#options, sent, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const taken = await take(fetched);
      if ("newest" in fetched) this.#newest = fetched.newest ?? this.#newest;
      if (taken === "no_policy") return this.#failed(fetched);
      this.#failures = 0;
      how = taken === "needs_body" && sent !== undefined ? "whole" : this.#again;
    }
    this.#later(this.#around(this.#streaming ? STREAMING_POLL_MS : pollMs));
  }

  #failed(fetched: Fetched): void {
    const { pollMs, retryMs, refusedMs, random } = this.#options;
    this.#failures += 1;
    if ("refusal" in fetched && fetched.waitMs !== undefined) {
      const asked = Math.min(fetched.waitMs, MOST_WAIT_MS);
      this.#notBefore = performance.now() + asked;
      this.#later(asked + random() * retryMs);
      return;
    }
    const backoff =
      fetched.kind === "refused"
        ? { firstMs: refusedMs, mostMs: refusedMs }
        : { firstMs: retryMs, mostMs: pollMs };
    this.#later(backoffMs(this.#failures, backoff, random()));
  }

  #stream(): Promise<void> {
    const { access, pollMs, retryMs } = this.#options;
    let streams = 0;
    let notices = 0;
    return followStream({
      ...this.#options,
      open: (init) => get(access, "/api/v1/live?only=policy", init),
      signal: this.#stop.signal,
      timeoutMs: access.timeoutMs,
      clock: access.clock,
      backoff: { firstMs: retryMs, mostMs: pollMs },
      onOpen: () => {
        this.#streaming = true;
        notices = 0;
        // The first stream opens beside the first request.
        if (streams > 0) void this.ask("whole");
        streams += 1;
      },
      onMessages: (messages) => {
        for (const generation of messages.map(generationOf)) {
          if (generation === undefined) continue;
          notices += 1;
          if (notices > 1) void this.ask("whole");
          else void this.#askIfMissed(generation);
        }
      },
      onClose: (wasOpen) => {
        this.#streaming = false;
        // A stream that never opened must not put off the polls.
        if (wasOpen && this.#asking === undefined && this.#failures === 0) this.#later(this.#around(pollMs));
      },
    });
  }

  /** The first notice of a stream says what the request beside it may have missed. */
  async #askIfMissed(generation: number): Promise<void> {
    await this.#asking;
    if (generation !== this.#newest) await this.ask("whole");
  }

  /** Asks after some time; an earlier plan is dropped. */
  #later(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#stop.signal.aborted) return;
    this.#timer = backgroundTimer(() => void this.ask("tagged"), afterMs);
  }

  /** ± 20 % */
  #around(ms: number): number {
    return ms * (0.8 + this.#options.random() * 0.4);
  }
}

/** The generation in a notice; undefined for any other message. */
function generationOf(message: string): number | undefined {
  try {
    const { type, generation } = JSON.parse(message) as { type?: unknown; generation?: unknown };
    return type === "policy" && Number.isSafeInteger(generation) ? (generation as number) : undefined;
  } catch {
    return undefined;
  }
}
