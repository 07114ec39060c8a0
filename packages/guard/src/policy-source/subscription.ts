import { type Fetched, fetchPolicy, readStream, type ServerAccess } from "./fetch-policy.ts";

/** Durations in ms. */
export interface SubscriptionOptions {
  access: ServerAccess;
  harness: string;
  model: string | undefined;
  pollMs: number;
  retryMs: number;
  refusedMs: number;
  silentMs: number;
  random: () => number;
  /** The hash to ask with, while nothing newer than it is known. */
  tag: () => string | undefined;
  /** Takes what the server answered. Returns true to be answered again without a tag. */
  take: (fetched: Fetched) => Promise<boolean>;
}

/** Longest wait that a server may ask for, in ms. */
const MOST_WAIT_MS = 3_600_000;

/** Keeps asking for the policy: when the stream says so, else in intervals. Never keeps the process alive. */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #stop = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> | undefined;
  /** Asked for while a request was under way. */
  #again: "no" | "tagged" | "whole" = "no";
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
  ask(how: "tagged" | "whole"): Promise<void> {
    if (this.#asking !== undefined) {
      this.#again = how === "whole" ? how : this.#again === "no" ? how : this.#again;
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

  async #request(first: "tagged" | "whole"): Promise<void> {
    const { access, harness, model, tag, take } = this.#options;
    for (let how = first; !this.#stop.signal.aborted; ) {
      this.#again = "no";
      const sent = how === "whole" ? undefined : tag();
      const fetched = await fetchPolicy(access, { harness, model }, sent, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const wantsBody = await take(fetched);
      if (fetched.kind !== "failed") this.#newest = fetched.newest ?? this.#newest;
      if (fetched.kind === "failed") return this.#failed(fetched);
      this.#failures = 0;
      const again = this.#again as "no" | "tagged" | "whole";
      if (wantsBody && sent !== undefined) how = "whole";
      else if (again !== "no") how = again;
      else break;
    }
    if (!this.#streaming) this.#later(this.#around(this.#options.pollMs));
  }

  #failed({ waitMs, refused }: Extract<Fetched, { kind: "failed" }>): void {
    const { pollMs, retryMs, refusedMs, random } = this.#options;
    this.#failures += 1;
    if (waitMs !== undefined) {
      const asked = Math.min(waitMs, MOST_WAIT_MS);
      this.#notBefore = performance.now() + asked;
      this.#later(asked + random() * retryMs);
      return;
    }
    const backoff = Math.min(pollMs, retryMs * 2 ** Math.min(this.#failures - 1, 16));
    // Full jitter, but never at once.
    const jittered = this.#failures > 5 ? this.#around(pollMs) : Math.max(retryMs / 10, random() * backoff);
    this.#later(refused ? this.#around(refusedMs) : jittered);
  }

  async #stream(): Promise<void> {
    const { access, pollMs, retryMs, refusedMs, silentMs, random } = this.#options;
    for (let failures = 0, streams = 0; !this.#stop.signal.aborted; ) {
      let notices = 0;
      const end = await readStream(access, silentMs, this.#stop.signal, (generation) => {
        this.#streaming = true;
        // The first stream opens beside the first request.
        if (generation === undefined && streams > 0) void this.ask("whole");
        if (generation === undefined) return;
        notices += 1;
        if (notices > 1) void this.ask("whole");
        else void this.#askIfMissed(generation);
      });
      if (this.#stop.signal.aborted) return;
      this.#streaming = false;
      failures = end.opened ? 0 : failures + 1;
      streams += end.opened ? 1 : 0;
      // A stream that never opened must not put off the polls.
      if (end.opened && this.#asking === undefined && this.#failures === 0) this.#later(this.#around(pollMs));
      const backoff = Math.min(pollMs, retryMs * 2 ** Math.min(failures, 16));
      const jittered = Math.max(retryMs / 10, random() * backoff);
      const asked = end.waitMs === undefined ? undefined : Math.min(end.waitMs, MOST_WAIT_MS);
      await this.#sleep(asked ?? (end.refused ? this.#around(refusedMs) : jittered));
    }
  }

  /** The first notice of a stream tells what the request beside it may have missed. */
  async #askIfMissed(generation: number): Promise<void> {
    await this.#asking;
    if (generation !== this.#newest) await this.ask("whole");
  }

  /** Asks after some time; an earlier plan is dropped. */
  #later(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => void this.ask("tagged"), afterMs);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      (timer as { unref?: () => void }).unref?.();
      const { signal } = this.#stop;
      signal.addEventListener("abort", done, { once: true });
      function done() {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
    });
  }

  /** ± 20 % */
  #around(ms: number): number {
    return ms * (0.8 + this.#options.random() * 0.4);
  }
}
