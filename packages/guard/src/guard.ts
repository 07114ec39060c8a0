import { Conversation } from "./conversation/conversation.ts";
import { currentConversation } from "./conversation/current-conversation.ts";
import type { GuardOptions } from "./conversation/types.ts";
import { checkOptions, checkPolicy } from "./policy/check-options.ts";
import type { PolicyInput } from "./policy/policy.ts";
import type { Identity } from "./report/events.ts";
import type { Companion } from "./respond/companion.ts";
import type { GuardState, SeenHistory } from "./state/state.ts";
import { align, type Trail } from "./view/alignment.ts";
import { type MessageReader, readerOf } from "./view/reader.ts";
import type { Message } from "./view/shape.ts";

/** The key of the only conversation of a harness that has one. */
const MAIN = "main";
/** Calls that belonged to no conversation, of which one may continue. */
const REMEMBERED_SIDE_CALLS = 256;
/** Answers whose id may be continued from. */
const REMEMBERED_ANSWERS = 1_000;
/** Conversations whose messages stay in memory, those used last. */
const AWAKE = 64;

type CompanionOf<M> = (conversation: Conversation<M>) => Companion<M>;

/** A call that belongs to no known conversation, such as one that writes a title. */
type SideCall = Trail & { agents: readonly boolean[]; system: number };

/**
 * Guards all conversations of a harness. Each has its own window: a summary, a mask or a count of one never reaches another.
 */
export class Guard<M = Message> {
  readonly options: GuardOptions<M>;
  readonly #reader: MessageReader<M>;
  readonly #conversations = new Map<string, Conversation<M>>();
  /** Keys of conversations by the id of an answer in them, the oldest first. */
  readonly #answers = new Map<string, string>();
  #companionOf: CompanionOf<M> | undefined;
  #policy: PolicyInput;
  #sides: SideCall[] = [];
  #sideCalls = 0;

  constructor(options: GuardOptions<M>) {
    checkOptions(options ?? {}, []);
    this.options = { ...options, onWarning: once(options.onWarning ?? console.warn) };
    this.#policy = options.policy ?? {};
    this.#reader = readerOf(options);
  }

  /** Calls that were passed through untouched, because they belonged to no known conversation. */
  get sideCalls(): number {
    return this.#sideCalls;
  }

  /**
   * Returns a conversation by its key, and creates it the first time.
   * @param key such as a thread's id. Without a session in the guard's identity it is the session, and else the agent
   * @param begin used when it is created: its state from an earlier process, and another identity
   * @example
   * const thread = guard.conversation("thread-91");
   * const { messages } = await fit(thread, history);
   */
  conversation(
    key: string = MAIN,
    begin: { state?: GuardState; identity?: Partial<Identity> } = {},
  ): Conversation<M> {
    const known = this.#conversations.get(key);
    return known === undefined ? this.#begin(key, key, begin) : this.#used(key, known);
  }

  /** Keeps the conversations in the order of their last use, and the messages of the last ones in memory. */
  #used(key: string, conversation: Conversation<M>): Conversation<M> {
    this.#conversations.delete(key);
    this.#conversations.set(key, conversation);
    if (this.#conversations.size > AWAKE) [...this.#conversations.values()].at(-AWAKE - 1)?.release();
    return conversation;
  }

  /** @param session its session, if the guard has none */
  #begin(
    key: string,
    session: string,
    { state, identity }: { state?: GuardState; identity?: Partial<Identity> } = {},
  ): Conversation<M> {
    const own = { ...identityOf(this.options.identity, key, session), ...identity };
    const options = { ...this.options, policy: this.#policy, identity: own, ...(state && { state }) };
    const conversation = new Conversation<M>(options, this.#reader);
    conversation.attach(this.#companionOf?.(conversation));
    return this.#used(key, conversation);
  }

  /** The policy of new conversations, as it was written. */
  get policy(): PolicyInput {
    return this.#policy;
  }

  /**
   * Replaces the policy. Each conversation switches before its next turn: a call that is under way ends under the old policy.
   * @throws {GuardError} `invalid_option`. The old policy then stays.
   * @example
   * guard.changePolicy({ ...guard.policy, thresholds: { ceiling: "50%" } });
   */
  changePolicy(policy: PolicyInput): void {
    checkPolicy(policy);
    this.#policy = policy;
    for (const conversation of this.#conversations.values()) conversation.changePolicy(policy);
  }

  /** Sets who prepares the edits of each conversation in the background, also of later ones. `optimistic` calls it. */
  attach(companionOf: CompanionOf<M>): void {
    this.#companionOf = companionOf;
    for (const conversation of this.#conversations.values()) conversation.attach(companionOf(conversation));
  }

  /** The conversations by key, the one used last at the end. */
  conversations(): [key: string, conversation: Conversation<M>][] {
    return [...this.#conversations];
  }

  /** Forgets a conversation that ended, with its counts. A server with many threads should call it for each. */
  forget(key: string): void {
    this.#conversations.get(key)?.attach(undefined);
    this.#conversations.delete(key);
    for (const [answer, one] of this.#answers) if (one === key) this.#answers.delete(answer);
  }

  /**
   * Finds the conversation of a call: by its key, by the key of the running async context, or by its messages. The first call
   * of all begins a conversation. Returns undefined for a call that continues none: it is counted as a side call, must be sent
   * unchanged, and becomes a conversation if a later call continues it.
   */
  route(
    messages: readonly M[],
    key: string | undefined = currentConversation(),
  ): Conversation<M> | undefined {
    if (key !== undefined) return this.conversation(key);
    const now = this.#reader.trail(messages);
    const known = this.#bestMatch(now) ?? this.#unused();
    if (known !== undefined) return known;
    if (this.#conversations.size === 0) return this.#begin(MAIN, crypto.randomUUID());
    const side = this.#sides.findIndex((one) => continues(one, now));
    if (side >= 0) {
      this.#sides.splice(side, 1);
      return this.#begin(this.#newKey(), crypto.randomUUID());
    }
    this.#sideCalls += 1;
    this.#sides = [...this.#sides, now].slice(-REMEMBERED_SIDE_CALLS);
    return undefined;
  }

  /** Remembers which conversation an answer belongs to, for calls that continue from its id. */
  answered(id: string, conversation: Conversation<M>): void {
    for (const [key, one] of this.#conversations) if (one === conversation) this.#answers.set(id, key);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > REMEMBERED_ANSWERS) this.#answers.delete(oldest!);
  }

  /** The conversation that an answer belongs to. */
  ofAnswer(id: string): Conversation<M> | undefined {
    const key = this.#answers.get(id);
    return key === undefined ? undefined : this.#conversations.get(key);
  }

  #bestMatch(now: SideCall): Conversation<M> | undefined {
    const said = new Set(now.exact);
    let best: { key: string; conversation: Conversation<M>; exact: number } | undefined;
    for (const [key, conversation] of this.#conversations) {
      const { seen } = conversation.state;
      if (seen === undefined || !mayContinue(seen, said)) continue;
      const exact = likeness(seen, now);
      // Of two that are alike, the one used last.
      if (exact > 0 && exact >= (best?.exact ?? 0)) best = { key, conversation, exact };
    }
    return best && this.#used(best.key, best.conversation);
  }

  /** The only conversation, if it has not begun. */
  #unused(): Conversation<M> | undefined {
    const [only, ...others] = this.#conversations.values();
    return only !== undefined && others.length === 0 && only.state.seen === undefined ? only : undefined;
  }

  #newKey(): string {
    let number = 2;
    while (this.#conversations.has(`${MAIN}-${number}`)) number++;
    return `${MAIN}-${number}`;
  }
}

/** Passes each message on once, whichever conversation it comes from. */
function once(pass: (message: string) => unknown): (message: string) => unknown {
  const passed = new Set<string>();
  return (message) => {
    if (passed.has(message)) return;
    passed.add(message);
    // A promise that rejects is the caller's to handle.
    return pass(message);
  };
}

function identityOf(
  { session, ...identity }: GuardOptions<unknown>["identity"],
  key: string,
  ownSession: string,
): Identity {
  if (session === undefined) return { ...identity, session: ownSession };
  return { ...identity, session, agent: key === MAIN ? identity.agent : key };
}

/** Messages at the end of a conversation of which one is expected in the next call. */
const EXPECTED = 16;

/** Rules out most other conversations without a comparison of all messages. */
function mayContinue({ exact }: Trail, said: ReadonlySet<number>): boolean {
  return (
    exact.slice(0, 2).some((print) => said.has(print)) ||
    exact.slice(-EXPECTED).some((print) => said.has(print))
  );
}

/** How many messages of a conversation stand in a call, if that proves that the call belongs to it. */
function likeness(seen: SeenHistory, now: SideCall): number {
  const { exact, answered } = align(seen, now, (index) => now.agents[index]!);
  // The first call again, as after an error.
  const same = exact === seen.exact.length && exact === now.exact.length && seen.system === now.system;
  return answered || same || continues(seen, now) ? exact : 0;
}

/** Whether a call has the whole of an earlier one, and then the agent's answer to it. */
function continues(earlier: Trail, now: SideCall): boolean {
  const { length } = earlier.exact;
  return (
    length > 0 &&
    earlier.exact.every((print, index) => print === now.exact[index]) &&
    now.agents[length] === true
  );
}

/**
 * Creates the guard of a harness.
 * @example
 * const guard = createGuard({ identity: { harness: "my-bot@host-1" }, window: 32_768 });
 * const thread = guard.conversation("thread-91");
 * const { messages } = await fit(thread, history);
 * thread.observe(await callModel(messages));
 */
export function createGuard<M = Message>(options: GuardOptions<M>): Guard<M> {
  return new Guard(options);
}
