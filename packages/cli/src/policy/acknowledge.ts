import { createHash } from "node:crypto";
import type { PolicyAnswer } from "@plimsoll/protocol/api";
import type { PlimsollEventInput, PolicyAckEvent } from "@plimsoll/protocol/events";
import type { Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { sendBatch } from "../import/send.ts";
import { sleep } from "../sleep.ts";

/** What became of a policy in the harness. */
export type PolicyOutcome = Pick<PolicyAckEvent, "status"> &
  Partial<Pick<PolicyAckEvent, "code" | "message" | "effective">> & {
    differences?: readonly NonNullable<PolicyAckEvent["differences"]>[number][] | undefined;
  };

/** How long an acknowledgement that the server refuses waits for its next attempt, in ms. */
const REFUSED_MS = 60_000;

/** Sends acknowledgements in order, each until the server has stored it. A repeat of the last one is not sent. */
export class Acknowledgements {
  readonly #connection: Connection;
  readonly #harness: string;
  readonly #now: () => number;
  readonly #waiting: PlimsollEventInput[] = [];
  #last: string | undefined;

  constructor(connection: Connection, harness: string, now: () => number) {
    this.#connection = connection;
    this.#harness = harness;
    this.#now = now;
  }

  /** @returns whether it differs from the last one */
  offer({ generation, hash }: Pick<PolicyAnswer, "generation" | "hash">, outcome: PolicyOutcome): boolean {
    const { status, code, message, effective, differences } = outcome;
    const content = JSON.stringify([generation, hash, status, code, message, effective, differences]);
    if (content === this.#last) return false;
    this.#last = content;
    const at = this.#now();
    const digest = createHash("sha256").update(content).digest("hex").slice(0, 8);
    this.#waiting.push({
      // The time distinguishes a repeated outcome from an event that is sent again.
      id: `policy/${generation}/${status}/${hash.slice(0, 16)}/${digest}-${at.toString(36)}`,
      type: "policy_ack",
      at,
      harness: this.#harness,
      generation,
      hash,
      status,
      ...(code !== undefined && { code }),
      ...(message !== undefined && { message }),
      ...(effective !== undefined && { effective }),
      ...(differences !== undefined && { differences: [...differences] }),
    });
    return true;
  }

  /**
   * Sends what waits.
   * @param patienceMs longest time to wait for the server
   * @throws CliError if the server is away for longer or refuses the events; they stay for the next call
   */
  async send(patienceMs: number, signal?: AbortSignal): Promise<void> {
    while (this.#waiting.length > 0) {
      const { rejected } = await sendBatch(this.#connection, this.#waiting.slice(0, 1), {
        patienceMs,
        ...(signal !== undefined && { signal }),
      });
      this.#waiting.shift();
      const [first] = rejected;
      if (first !== undefined)
        throw new CliError(`The server rejected the acknowledgement: ${first.path} ${first.message}`);
    }
  }

  /** Sends what waits until the signal aborts. */
  async sendAlways(signal: AbortSignal, onTrouble: (message: string) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.send(Number.POSITIVE_INFINITY, signal);
        await sleep(250, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof CliError)) throw error;
        onTrouble(error.message);
        await sleep(REFUSED_MS, signal);
      }
    }
  }
}
