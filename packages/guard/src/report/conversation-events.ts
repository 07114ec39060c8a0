import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { eventLost } from "../respond/texts.ts";
import { type EventBody, eventOf, type Identity } from "./events.ts";
import { type TurnToReport, turnBody } from "./turn-event.ts";

/** Where the events of a conversation go. */
export interface EventTarget {
  identity: Identity;
  onEvent: ((event: PlimsollEventInput) => void) | undefined;
  onWarning: (message: string) => void;
  /** Epoch ms. */
  clock: () => number;
}

/** Sends the events of one conversation, each with a number of its own. */
export class ConversationEvents {
  readonly #target: EventTarget;
  #number: number;

  /** @param number of the events so far */
  constructor(target: EventTarget, number: number) {
    this.#target = target;
    this.#number = number;
  }

  /** Number of events so far. */
  get number(): number {
    return this.#number;
  }

  /** @param window in which the event happened */
  emit(body: EventBody, window: number): void {
    const { identity, clock } = this.#target;
    this.#send(identity, clock(), window, body);
  }

  /** Sends an event of a sub-agent, which has windows of its own. */
  emitOf(agent: string, body: EventBody): void {
    this.#send(this.#subAgent(agent), this.#target.clock(), undefined, body);
  }

  /**
   * @param at epoch ms
   * @param agent that made the call, if it is another one
   */
  emitTurn(turn: TurnToReport, at: number, window: number, agent: string | undefined): void {
    if (this.#target.onEvent === undefined) return;
    if (agent === undefined) this.#send(this.#target.identity, at, window, turnBody(turn));
    else this.#send(this.#subAgent(agent), at, undefined, turnBody(turn));
  }

  #subAgent(agent: string): Identity {
    const { identity } = this.#target;
    return { ...identity, agent, parentAgent: identity.agent ?? "main" };
  }

  #send(identity: Identity, at: number, window: number | undefined, body: EventBody): void {
    this.#number += 1;
    // The answer of the model matters more than its record.
    const lost = (error: unknown) => this.#target.onWarning(eventLost(error));
    try {
      const told: unknown = this.#target.onEvent?.(eventOf(identity, at, window, this.#number, body));
      Promise.resolve(told).catch(lost);
    } catch (error) {
      lost(error);
    }
  }
}
