import type { PolicySettings } from "@plimsoll/protocol/pure";
import { refusalText } from "../http/answers.ts";
import { checkNames } from "../policy/check-names.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { settingsOf } from "../policy/policy-settings.ts";
import { type AckBody, Acknowledger } from "./acknowledger.ts";
import type { Fetched } from "./fetch-policy.ts";
import { HealthWatch } from "./health-watch.ts";
import { type AckCode, type Judgement, judge } from "./judge.ts";
import { POLICY_SOURCE_OPTIONS, type PolicySourceOptions } from "./options.ts";
import { hashOf, readAnswer, type ServedPolicy } from "./read-answer.ts";
import { type Quarantined, readStored, type StoreOwner, storedText } from "./stored-policy.ts";
import { Subscription, type Taken } from "./subscription.ts";

type Accepted = Extract<Judgement, { kind: "accepted" }>;

/** What the guard runs: a policy of the server, or with `served` undefined the harness's own. */
interface Running {
  served: ServedPolicy | undefined;
  policy: PolicyInput;
  effective: PolicySettings;
  differences: Accepted["differences"];
}

/** Keeps a guard on the project's policy. Never blocks or fails a call of the agent. */
export class PolicySource {
  /** Resolves when the stored policy, if there is one, is in force. Never rejects. */
  readonly ready: Promise<void>;
  readonly #options: PolicySourceOptions;
  readonly #own: Running;
  readonly #acks: Acknowledger;
  readonly #health: HealthWatch | undefined;
  readonly #healthMs: number;
  readonly #subscription: Subscription;
  #running: Running;
  /** What to go back to. */
  #good: Running;
  /** What it was before the newest change, and until when (on the clock of `performance`) a failure goes back to it. */
  #before: { good: Running; until: number } | undefined;
  #quarantined: Quarantined | undefined;
  /** The newest generation that an answer named. */
  #newest: number | undefined;
  /** Since when the server's history is behind, on the clock of `performance`. */
  #behindSince: number | undefined;
  #troubles = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #forget = () => {};
  #stopped = false;

  constructor(options: PolicySourceOptions) {
    this.#options = options;
    const { guard, harness, reporter, clock = Date.now, healthy, healthMs = 60_000 } = options;
    const effective = settingsOf(guard.policy);
    this.#own = { served: undefined, policy: guard.policy, effective, differences: [] };
    this.#running = this.#own;
    this.#good = this.#own;
    this.#acks = new Acknowledger(harness, reporter, clock);
    this.#healthMs = healthMs;
    this.#health = healthy && new HealthWatch(healthy, healthMs);
    this.#subscription = new Subscription({
      access: {
        url: options.url,
        key: options.key,
        fetch: options.fetch ?? fetch,
        timeoutMs: options.timeoutMs ?? 10_000,
        clock,
      },
      harness,
      model: options.model,
      pollMs: options.pollMs ?? 30_000,
      retryMs: options.retryMs ?? 1_000,
      refusedMs: options.refusedMs ?? 300_000,
      silentMs: options.silentMs ?? 120_000,
      random: options.random ?? Math.random,
      tag: () => this.#tag(),
      take: (fetched) => this.#take(fetched),
    });
    this.ready = this.#begin();
  }

  /** All settings in force, with the harness's own for those that the project does not set. */
  get settings(): PolicySettings {
    return this.#running.effective;
  }

  /** The generation in force; 0 for the harness's own policy. */
  get generation(): number {
    return this.#running.served?.generation ?? 0;
  }

  /** The policy that this harness refused last, until the server has another one. */
  get refused(): { generation: number; code: AckCode; message: string } | undefined {
    return this.#quarantined;
  }

  /** Asks the server now. Resolves when its answer is in force, or when it failed. Never rejects. */
  async check(): Promise<void> {
    await this.ready;
    await this.#subscription.ask("whole");
  }

  /** Reports that the harness failed. If a policy was applied within `healthMs`, the source takes it back. */
  async failed(error: unknown): Promise<void> {
    if (this.#running === this.#good) {
      const { good, until = 0 } = this.#before ?? {};
      if (good === undefined || performance.now() >= until) return;
      this.#good = good;
    }
    await this.#revert(`The harness failed: ${messageOf(error)}`);
  }

  /** Ends the subscription. The policy in force stays. Resolves when the store is written. */
  async close(): Promise<void> {
    this.#stopped = true;
    this.#subscription.stop();
    this.#health?.stop();
    this.#forget();
    await this.#writing;
  }

  async #begin(): Promise<void> {
    await this.#restore();
    if (this.#stopped) return;
    this.#forget =
      this.#options.reporter?.onPolicyGeneration?.((generation) => {
        if (this.#newest !== undefined && generation !== this.#newest) void this.#subscription.ask("whole");
      }) ?? this.#forget;
    this.#subscription.start();
  }

  /** The server says nothing new only if the newest generation is the one that runs. */
  #tag(): string | undefined {
    const { served } = this.#running;
    const isNewest = this.#newest === undefined || this.#newest === served?.generation;
    return isNewest ? served?.hash : undefined;
  }

  async #take(fetched: Fetched): Promise<Taken> {
    switch (fetched.kind) {
      case "refused":
        this.#trouble(
          `The server refused the key for policies with ${refusalText(fetched.refusal)}. Check its scopes.`,
        );
        return "no_policy";
      case "later":
        return this.#away(refusalText(fetched.refusal));
      case "unreachable":
        return this.#away(messageOf(fetched.error));
    }
    this.#newest = fetched.newest ?? this.#newest;
    if (fetched.kind === "unchanged")
      return this.#newest === undefined || this.#newest === this.generation ? "taken" : "needs_body";
    const answer = await readAnswer(fetched.text);
    if (answer.kind !== "policy") {
      this.#trouble(`The server's policy was ignored: ${answer.message}.`);
      // A refusal of the generation in force would say that it is no longer in force.
      if (answer.kind === "wrong_hash" && answer.generation !== this.generation) {
        const { generation, hash, message } = answer;
        this.#acks.send({ generation, hash, status: "rejected", code: "wrong_hash", message });
      }
      return "no_policy";
    }
    this.#troubles.clear();
    if (!this.#isBehind(answer.policy)) await this.#offer(answer.policy);
    return "taken";
  }

  #away(reason: string): Taken {
    this.#trouble(`The policy cannot be read and the last one stays in force: ${reason}`);
    return "no_policy";
  }

  /**
   * Whether a policy is older than the one in force. If the server's whole history stays older for `restoredMs`, it was restored
   * from a backup, or this is another project.
   */
  #isBehind({ generation }: ServedPolicy): boolean {
    if (generation >= this.generation) {
      this.#behindSince = undefined;
      return false;
    }
    const wholeHistory = (this.#newest ?? generation) < this.generation;
    if (!wholeHistory) {
      this.#behindSince = undefined;
      this.#trouble(
        `The server offers generation ${generation}, older than ${this.generation}. It was ignored.`,
      );
      return true;
    }
    this.#behindSince ??= performance.now();
    const restored = performance.now() - this.#behindSince >= (this.#options.restoredMs ?? 600_000);
    if (restored) this.#behindSince = undefined;
    return !restored;
  }

  async #offer(served: ServedPolicy): Promise<void> {
    const { served: now } = this.#running;
    if (isSame(served, now) || (served.generation === 0 && now === undefined)) return;
    if (this.#quarantined !== undefined && isSame(served, this.#quarantined)) return;
    if (served.generation === 0) return this.#settle(served, this.#apply({ ...this.#own }), this.#own);
    const judged = judge(served.settings, this.#own.policy, this.#options);
    if (judged.kind === "rejected") return this.#reject(served, judged.code, judged.message);
    const next: Running = { served, ...judged };
    await this.#settle(served, this.#apply(next), next);
  }

  /** Returns why the guard did not take it. */
  #apply({ policy }: Running): string | undefined {
    try {
      this.#options.guard.changePolicy(policy);
      return undefined;
    } catch (error) {
      this.#putBack(this.#running);
      return messageOf(error);
    }
  }

  #putBack({ policy }: Running): void {
    try {
      this.#options.guard.changePolicy(policy);
    } catch (error) {
      this.#trouble(`The guard did not take its policy back: ${String(error)}`);
    }
  }

  async #settle(served: ServedPolicy, failure: string | undefined, next: Running): Promise<void> {
    if (failure !== undefined) return this.#reject(served, "apply_failed", failure);
    this.#running = next;
    this.#quarantined = undefined;
    this.#acks.send(accepted(served, next));
    this.#changed();
    if (this.#health === undefined) {
      // Stored at once: the process may not live for as long as a failure can take it back.
      this.#before = { good: this.#good, until: performance.now() + this.#healthMs };
      await this.#keep();
    } else this.#health.watch((reason) => void (reason === undefined ? this.#keep() : this.#revert(reason)));
  }

  /** The policy in force proved good. */
  #keep(): Promise<void> {
    this.#good = this.#running;
    return this.#write();
  }

  async #revert(reason: string): Promise<void> {
    const { served } = this.#running;
    this.#health?.stop();
    if (served === undefined) return;
    this.#before = undefined;
    this.#running = this.#good;
    this.#putBack(this.#good);
    this.#changed();
    await this.#reject(served, "unhealthy", reason);
  }

  async #reject({ generation, hash }: ServedPolicy, code: AckCode, message: string): Promise<void> {
    this.#quarantined = { generation, hash, code, message };
    this.#acks.send({ generation, hash, status: "rejected", code, message });
    this.#trouble(`The policy of generation ${generation} was refused: ${message}`);
    await this.#write();
  }

  async #restore(): Promise<void> {
    const { store, harness } = this.#options;
    if (store === undefined) return;
    try {
      const text = await store.read(harness);
      if (text === undefined) return;
      const stored = await readStored(text, await this.#owner());
      if (typeof stored === "string") {
        this.#trouble(`The stored policy was ignored: ${stored}.`);
        return;
      }
      this.#quarantined = stored.quarantined;
      if (stored.good === undefined) return;
      const judged = judge(stored.good.settings, this.#own.policy, this.#options);
      if (judged.kind === "rejected") return;
      const next: Running = { served: stored.good, ...judged };
      if (this.#apply(next) !== undefined) return;
      this.#running = next;
      this.#good = next;
      this.#acks.send(accepted(stored.good, next));
      this.#changed();
    } catch (error) {
      this.#trouble(`The stored policy cannot be read: ${String(error)}`);
    }
  }

  /** Writes one after the other, so that the last one wins. */
  #write(): Promise<void> {
    const { store, harness } = this.#options;
    if (store === undefined) return this.#writing;
    this.#writing = this.#writing.then(async () => {
      try {
        const stored = { good: this.#good.served, quarantined: this.#quarantined };
        await store.write(harness, await storedText(await this.#owner(), stored));
      } catch (error) {
        this.#trouble(`The policy cannot be stored: ${String(error)}. Check the folder.`);
      }
    });
    return this.#writing;
  }

  async #owner(): Promise<StoreOwner> {
    const { url, harness, model, allow, bounds, onOutOfBounds, handles } = this.#options;
    const limits = (await hashOf({ allow, bounds, onOutOfBounds, handles, own: this.#own.policy })) ?? "";
    return { url, harness, ...(model === undefined ? {} : { model }), limits } as StoreOwner;
  }

  #changed(): void {
    try {
      this.#options.onChange?.(this.settings, this.generation);
    } catch (error) {
      this.#trouble(`onChange failed: ${String(error)}`);
    }
  }

  /** Reports each problem once, until the server gives a good answer again. */
  #trouble(message: string): void {
    if (this.#troubles.has(message)) return;
    this.#troubles.add(message);
    try {
      this.#options.onTrouble?.(message);
    } catch {
      // An error in the harness's callback must not end the subscription.
    }
  }
}

/**
 * Keeps a guard on the policy that the project has for a harness. It applies each policy before the next turn, keeps the last
 * good one, and acknowledges it through the reporter.
 * @throws {GuardError} `invalid_option`
 * @example
 * const reporter = createReporter({ url, key });
 * const guard = createGuard({ identity: { harness: "my-bot@host-1" }, window: 200_000, onEvent: reporter.record });
 * const source = policySource({ url, key, harness: "my-bot@host-1", guard, reporter });
 * // Before the process exits:
 * await source.close();
 */
export function policySource(options: PolicySourceOptions): PolicySource {
  checkNames(options, POLICY_SOURCE_OPTIONS);
  return new PolicySource(options);
}

function accepted({ generation, hash }: ServedPolicy, { effective, differences }: Running): AckBody {
  if (differences.length === 0) return { generation, hash, status: "applied", effective };
  return { generation, hash, status: "overridden", effective, differences: [...differences] };
}

const isSame = (
  one: { generation: number; hash: string },
  other: { generation: number; hash: string } | undefined,
) => other !== undefined && one.generation === other.generation && one.hash === other.hash;

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
