import { randomInt } from "node:crypto";
import type { MachineLoginAnswer, Scope, WaitingMachine } from "@plimsoll/protocol/api";
import pLimit from "p-limit";
import type { MachineLogin, Person, ProjectRole } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeToken } from "../../key-format.ts";
import { iso } from "../../times.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import { rolesIn } from "../people/people.ts";
import type { Keys } from "./keys.ts";
import type { Throttle } from "./throttle.ts";

/** How long a code waits, in ms. */
export const CODE_MS = 10 * 60_000;
/** Codes that wait at a time: of all machines, and of one address, which may be that of a whole office. */
const MOST_OPEN = 2_000;
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
}

type Row = MachineLogin & { person: (Person & { roles: ProjectRole[] }) | null };

export interface MachineLoginsOptions {
  prisma: PrismaClient;
  keys: Pick<Keys, "create" | "revoke">;
  /** Of wrong codes. */
  throttle: Throttle;
  now?: () => number;
}

export type MachineLogins = ReturnType<typeof createMachineLogins>;

/** Codes that wait for a person, in the database: the machine and the person may reach different servers. */
export function createMachineLogins({ prisma, keys, throttle, now = Date.now }: MachineLoginsOptions) {
  /** Anybody may ask and poll: a flood gets no more connections of the database than this. */
  const atOnce = pLimit(4);
  const oldest = () => new Date(now() - CODE_MS);

  /** Rows of the machine that waits with a code. */
  const waitingWith = (typed: string) => ({
    codeHash: hashOfCode(typed),
    state: "waiting",
    askedAt: { gt: oldest() },
  });

  const unknownCode = (client: string) =>
    throttle.failed(
      client,
      new PlimsollError("not_found", "No machine waits with this code. It is valid for 10 minutes, once."),
    );

  async function issue({ deviceHash, machine, approval, person }: Row): Promise<MachineLoginAnswer> {
    const { actor, project } = approval as unknown as Approval;
    // With the roles of now: they may have changed since the person agreed.
    const owner = person && { id: person.id, name: person.name, roles: rolesIn(person) };
    const make = (name: string, scopes: Scope[]) =>
      keys.create(project.id, { name, scopes }, actor, owner ?? undefined);
    try {
      const key = await make(machine, MACHINE_SCOPES);
      const ingestKey = await make(`${machine} (harnesses)`, ["ingest"]).catch(async (error: unknown) => {
        await keys.revoke(project.id, key.id, actor).catch(() => {});
        throw error;
      });
      // A row that stays gives no second pair.
      await prisma.machineLogin.deleteMany({ where: { deviceHash } }).catch(() => {});
      return {
        status: "approved",
        project: project.name,
        key: { id: key.id, name: key.name, secret: key.secret },
        ingest_key: { id: ingestKey.id, name: ingestKey.name, secret: ingestKey.secret },
      };
    } catch (error) {
      // The machine asks again, for as long as the code lives.
      await prisma.machineLogin.updateMany({ where: { deviceHash }, data: { state: "approved" } });
      throw error;
    }
  }

  async function ask(
    machine: string,
    address: string,
  ): Promise<{ deviceCode: string; userCode: string; interval: number }> {
    await prisma.machineLogin.deleteMany({ where: { askedAt: { lte: oldest() } } });
    const waiting = await prisma.machineLogin.count();
    const own = await prisma.machineLogin.count({ where: { address } });
    if (waiting >= MOST_OPEN || own >= MOST_OF_ADDRESS) {
      throw new PlimsollError(
        "quota_exceeded",
        "Too many machines wait for a person to confirm them. Try again in a minute.",
        { details: { retry_after_seconds: 60 } },
      );
    }
    const deviceCode = makeToken();
    const asked = { machine, address, askedAt: new Date(now()), pollSeconds: INTERVAL, state: "waiting" };
    for (;;) {
      const userCode = makeCode();
      const data = { ...asked, deviceHash: hashSecret(deviceCode), codeHash: hashOfCode(userCode) };
      // No row if another machine waits with this code.
      const { count } = await prisma.machineLogin.createMany({ data, skipDuplicates: true });
      if (count > 0) return { deviceCode, userCode: shown(userCode), interval: INTERVAL };
    }
  }

  async function poll(deviceCode: string): Promise<MachineLoginAnswer> {
    const deviceHash = hashSecret(deviceCode);
    const row = await prisma.machineLogin.findFirst({
      where: { deviceHash, askedAt: { gt: oldest() } },
      include: { person: { include: { roles: true } } },
    });
    if (row === null) return { status: "expired" };
    if (row.state === "denied") {
      await prisma.machineLogin.deleteMany({ where: { deviceHash } });
      return { status: "denied" };
    }
    if (row.state === "approved") {
      const claimed = await prisma.machineLogin.updateMany({
        where: { deviceHash, state: "approved" },
        data: { state: "issuing" },
      });
      if (claimed.count > 0) return issue(row);
    }
    const at = now();
    const isSoon = row.polledAt !== null && at - row.polledAt.getTime() < row.pollSeconds * 1_000;
    const interval = row.pollSeconds + (isSoon ? INTERVAL : 0);
    await prisma.machineLogin.updateMany({
      where: { deviceHash },
      data: { polledAt: new Date(at), pollSeconds: interval },
    });
    return { status: isSoon ? "slow_down" : "pending", interval };
  }

  return {
    /**
     * A code for a machine.
     * @param address of the client
     * @throws PlimsollError `quota_exceeded` if too many wait
     */
    ask: (machine: string, address: string) => atOnce(() => ask(machine, address)),

    /**
     * The machine that waits with a code.
     * @param client the address of the person's browser
     * @throws PlimsollError `not_found`, `quota_exceeded`
     */
    async look(typed: string, client: string): Promise<WaitingMachine> {
      throttle.check(client);
      const found = await prisma.machineLogin.findFirst({ where: waitingWith(typed) });
      if (found === null) throw unknownCode(client);
      const { machine, address, askedAt } = found;
      return {
        user_code: shown(lettersOf(typed)),
        machine,
        address,
        asked_at: askedAt.toISOString(),
        expires_at: iso(askedAt.getTime() + CODE_MS),
      };
    },

    /**
     * Lets a machine in, or not. Its keys are made when it asks for them.
     * @param personId whose machine it is; absent for a login link or the access token
     * @throws PlimsollError `not_found`, `quota_exceeded`
     */
    async decide(
      typed: string,
      client: string,
      { approve, personId, actor, project }: Approval & { approve: boolean; personId?: string | undefined },
    ): Promise<void> {
      throttle.check(client);
      await prisma.$transaction(async (tx) => {
        const [decided] = await tx.machineLogin.updateManyAndReturn({
          where: waitingWith(typed),
          data: {
            state: approve ? "approved" : "denied",
            approval: { actor, project },
            personId: personId ?? null,
          },
        });
        if (decided === undefined) throw unknownCode(client);
        await addEntry(tx, now(), {
          actor,
          action: approve ? "machine_approved" : "machine_denied",
          projectId: project.id,
          target: decided.machine,
          detail: `from ${decided.address}`,
        });
      });
    },

    /** What became of a device code. A code gives keys once, whichever servers are asked. */
    poll: (deviceCode: string) => atOnce(() => poll(deviceCode)),
  };
}

const lettersOf = (typed: string) => typed.toUpperCase().replace(/[^A-Z]/g, "");
const hashOfCode = (typed: string) => hashSecret(lettersOf(typed));
const makeCode = () => Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
const shown = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;
