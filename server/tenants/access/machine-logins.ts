import { randomInt } from "node:crypto";
import type { MachineLoginAnswer, Scope, WaitingMachine } from "@plimsoll/protocol/api";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeToken } from "../../key-format.ts";
import { iso } from "../../times.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import type { KeyOwner, Keys } from "./keys.ts";
import type { Throttle } from "./throttle.ts";

/** How long a code waits, in ms. */
export const CODE_MS = 10 * 60_000;
/** Codes that wait at a time: of all machines, and of one address, which may be that of a whole office. */
const MOST_OPEN = 200;
const MOST_OF_ADDRESS = 20;
/** Seconds between two polls, and what one that comes too soon adds. */
const INTERVAL = 5;
/** RFC 8628 recommends letters that form no words. 20^8 of them. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** What a machine's own key may do; the key in its harnesses only sends. */
const MACHINE_SCOPES: Scope[] = ["ingest", "read", "policy:read", "policy:ack"];

interface Approval {
  actor: Actor;
  project: { id: number; name: string };
  /** Whose machine it is. Absent for a login link or the access token. */
  owner?: KeyOwner | undefined;
}

type Decision = { kind: "waiting" | "denied" | "issuing" } | ({ kind: "approved" } & Approval);

interface Waiting {
  userCode: string;
  /** Of the device code, in hex. */
  hash: string;
  machine: string;
  address: string;
  askedAt: number;
  /** Seconds. */
  interval: number;
  polledAt: number;
  decision: Decision;
}

export interface MachineLoginsOptions {
  prisma: PrismaClient;
  keys: Pick<Keys, "create" | "revoke">;
  /** Of wrong codes. */
  throttle: Throttle;
  now?: () => number;
}

export type MachineLogins = ReturnType<typeof createMachineLogins>;

/** Codes that wait for a person. In the memory of this process, as login links are: they live ten minutes. */
export function createMachineLogins({ prisma, keys, throttle, now = Date.now }: MachineLoginsOptions) {
  const waiting = new Map<string, Waiting>();

  function sweep(): void {
    for (const [code, { askedAt }] of waiting) if (askedAt + CODE_MS <= now()) waiting.delete(code);
  }

  /** @throws PlimsollError `not_found`, `quota_exceeded` */
  function find(typed: string, client: string): Waiting {
    throttle.check(client);
    sweep();
    const code = typed.toUpperCase().replace(/[^A-Z]/g, "");
    const found = waiting.get(code);
    if (found?.decision.kind === "waiting") return found;
    throw throttle.failed(
      client,
      new PlimsollError("not_found", "No machine waits with this code. It is valid for 10 minutes, once."),
    );
  }

  async function issue(
    entry: Waiting,
    decision: Decision & { kind: "approved" },
  ): Promise<MachineLoginAnswer> {
    const { actor, project, owner } = decision;
    const make = (name: string, scopes: Scope[]) => keys.create(project.id, { name, scopes }, actor, owner);
    entry.decision = { kind: "issuing" };
    try {
      const key = await make(entry.machine, MACHINE_SCOPES);
      const ingestKey = await make(`${entry.machine} (harnesses)`, ["ingest"]).catch(
        async (error: unknown) => {
          await keys.revoke(project.id, key.id, actor).catch(() => {});
          throw error;
        },
      );
      waiting.delete(entry.userCode);
      return {
        status: "approved",
        project: project.name,
        key: { id: key.id, name: key.name, secret: key.secret },
        ingest_key: { id: ingestKey.id, name: ingestKey.name, secret: ingestKey.secret },
      };
    } catch (error) {
      // The machine asks again, for as long as the code lives.
      entry.decision = decision;
      throw error;
    }
  }

  return {
    /**
     * A code for a machine.
     * @param address of the client
     * @throws PlimsollError `quota_exceeded` if too many wait
     */
    ask(machine: string, address: string): { deviceCode: string; userCode: string; interval: number } {
      sweep();
      const own = [...waiting.values()].filter((entry) => entry.address === address).length;
      if (waiting.size >= MOST_OPEN || own >= MOST_OF_ADDRESS) {
        throw new PlimsollError(
          "quota_exceeded",
          "Too many machines wait for a person to confirm them. Try again in a minute.",
          { details: { retry_after_seconds: 60 } },
        );
      }
      const deviceCode = makeToken();
      let userCode = makeCode();
      while (waiting.has(userCode)) userCode = makeCode();
      waiting.set(userCode, {
        ...{ userCode, machine, address, askedAt: now(), interval: INTERVAL },
        hash: hashOf(deviceCode),
        polledAt: Number.NEGATIVE_INFINITY,
        decision: { kind: "waiting" },
      });
      return { deviceCode, userCode: shown(userCode), interval: INTERVAL };
    },

    /**
     * The machine that waits with a code.
     * @param client the address of the person's browser
     * @throws PlimsollError `not_found`, `quota_exceeded`
     */
    look(typed: string, client: string): WaitingMachine {
      const { userCode, machine, address, askedAt } = find(typed, client);
      return {
        user_code: shown(userCode),
        machine,
        address,
        asked_at: iso(askedAt),
        expires_at: iso(askedAt + CODE_MS),
      };
    },

    /**
     * Lets a machine in, or not. Its keys are made when it asks for them.
     * @throws PlimsollError `not_found`, `quota_exceeded`
     */
    async decide(
      typed: string,
      client: string,
      { approve, ...approval }: Approval & { approve: boolean },
    ): Promise<void> {
      const { actor, project } = approval;
      const entry = find(typed, client);
      // Before the log is written: nobody else decides meanwhile.
      entry.decision = { kind: "issuing" };
      try {
        await addEntry(prisma, now(), {
          actor,
          action: approve ? "machine_approved" : "machine_denied",
          projectId: project.id,
          target: entry.machine,
          detail: `from ${entry.address}`,
        });
      } catch (error) {
        entry.decision = { kind: "waiting" };
        throw error;
      }
      entry.decision = approve ? { kind: "approved", ...approval } : { kind: "denied" };
    },

    /** What became of a device code. A code gives keys once. */
    async poll(deviceCode: string): Promise<MachineLoginAnswer> {
      sweep();
      const hash = hashOf(deviceCode);
      const entry = [...waiting.values()].find((one) => one.hash === hash);
      if (entry === undefined) return { status: "expired" };
      const isSoon = now() - entry.polledAt < entry.interval * 1_000;
      entry.polledAt = now();
      const { decision } = entry;
      if (decision.kind === "denied") {
        waiting.delete(entry.userCode);
        return { status: "denied" };
      }
      if (decision.kind === "approved") return issue(entry, decision);
      if (isSoon) entry.interval += INTERVAL;
      return { status: isSoon ? "slow_down" : "pending", interval: entry.interval };
    },
  };
}

const hashOf = (deviceCode: string) => Buffer.from(hashSecret(deviceCode)).toString("hex");
const makeCode = () => Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
const shown = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;
