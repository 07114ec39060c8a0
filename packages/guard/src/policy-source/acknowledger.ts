import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import type { AckReporter } from "./options.ts";

type PolicyAck = Extract<PlimsollEventInput, { type: "policy_ack" }>;
/** What a harness says of a policy. */
export type AckBody = Pick<
  PolicyAck,
  "generation" | "hash" | "status" | "code" | "message" | "effective" | "differences"
>;

const MOST_DIFFERENCES = 64;
/** A longer one is shortened to what agents are judged by. */
const MOST_EFFECTIVE_CHARACTERS = 16_384;
const MOST_MESSAGE_CHARACTERS = 500;

/** Reports to the server what became of each policy: each fact once. */
export class Acknowledger {
  readonly #harness: string;
  readonly #reporter: AckReporter | undefined;
  readonly #clock: () => number;
  /** Distinguishes two runs of a harness. */
  readonly #run: string;
  #number = 0;
  #lastAt = 0;
  #lastBody = "";

  constructor(harness: string, reporter: AckReporter | undefined, clock: () => number) {
    this.#harness = harness;
    this.#reporter = reporter;
    this.#clock = clock;
    this.#run = `${clock().toString(36)}-${crypto.randomUUID().slice(0, 8)}`;
  }

  send(body: AckBody): void {
    const { message, differences, effective } = body;
    const sent: AckBody = {
      ...body,
      ...(message === undefined ? {} : { message: message.slice(0, MOST_MESSAGE_CHARACTERS) }),
      ...(differences === undefined ? {} : { differences: differences.slice(0, MOST_DIFFERENCES) }),
    };
    if (effective !== undefined && JSON.stringify(effective).length > MOST_EFFECTIVE_CHARACTERS)
      sent.effective = { enforcement: effective.enforcement, thresholds: effective.thresholds };
    const text = JSON.stringify(sent);
    if (text === this.#lastBody) return;
    this.#lastBody = text;
    this.#number += 1;
    // The server orders acknowledgements by time, and a clock may jump back.
    const at = Math.max(this.#clock(), this.#lastAt + 1);
    this.#lastAt = at;
    const { generation, status, hash } = body;
    const id = `policy/${generation}/${status}/${hash.slice(0, 16)}/${this.#run}/${this.#number}`;
    this.#reporter?.record({ id, type: "policy_ack", at, harness: this.#harness, ...sent });
  }
}
