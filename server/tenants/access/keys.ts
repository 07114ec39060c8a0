import { randomUUID } from "node:crypto";
import {
  type CreatedKey,
  type CreateKeyInput,
  GRACE_MS,
  type Grace,
  type KeyView,
  type RotatedKey,
  type Scope,
} from "@plimsoll/protocol/api";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { ApiKey, Person } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeKey } from "../../key-format.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import { rolesIn } from "../people/people.ts";
import { mayGive, type Roles } from "../people/permissions.ts";
import { checkedExpiry, nextExpiry, utcDay } from "./expiry.ts";

/** How long a process trusts what it knows of a key, in ms. Revocation is told at once; this is the net below. */
const TRUST_MS = 30_000;
/** How long an unknown key stays unknown without asking again, in ms. */
const DISTRUST_MS = 5_000;
const USED_EVERY_MS = 60_000;

/** A principal already, so that letting a request in makes no object. */
export interface VerifiedKey {
  kind: "key";
  keyId: string;
  keyName: string;
  projectId: number;
  scopes: ReadonlySet<Scope>;
  /** Whose agents it answers. Absent without the scope `self`. */
  harness?: string;
  /** Whose key it is. Absent for a service's. */
  person?: { id: string; name: string };
  /** Scopes of the key that its owner's role does not allow now. */
  withheld?: ReadonlySet<Scope>;
}

/** A key that was good until `expiredAt`, in ms. */
export interface ExpiredKey {
  kind: "expired";
  expiredAt: number;
  /** Rotation ended it, so there is another key. */
  replaced: boolean;
}

interface Known extends VerifiedKey {
  /** In ms. Infinity: never. */
  expiresAt: number;
  replaced: boolean;
  hash: string;
  /** When this process last wrote last_used_at, in ms. */
  usedAt: number;
}

/** Who has keys. */
export interface KeyOwner {
  id: string;
  name: string;
  roles: Roles;
}

/** Who asks about keys. */
export interface KeyAccess {
  /** Absent for what is no person. */
  personId?: string | undefined;
  /** As if the keys of others did not exist. */
  onlyOwn?: boolean;
}

const ownedBy = ({ personId, onlyOwn = false }: KeyAccess) => (onlyOwn ? { personId: personId ?? null } : {});

type KeyRow = ApiKey & { person: Pick<Person, "id" | "name"> | null };
const WITH_PERSON = { person: { select: { id: true, name: true } } } as const;

export interface KeysOptions {
  prisma: PrismaClient;
  log: Logger;
  /** Tells the other processes that this credential ends, by the hex of its sha256. */
  announce?: (hash: string) => void;
  now?: () => number;
}

export type Keys = ReturnType<typeof createKeys>;

/**
 * The keys machines send with. What is known of a key is cached by the key itself: looking up a string
 * costs a tenth of hashing it, and the strings are in memory anyway for as long as requests carry them.
 */
export function createKeys({ prisma, log, announce, now = Date.now }: KeysOptions) {
  const perf = { now };
  const known = new LRUCache<string, Known>({ max: 5_000, ttl: TRUST_MS, ttlResolution: 0, perf });
  const unknown = new LRUCache<string, true>({ max: 1_000, ttl: DISTRUST_MS, ttlResolution: 0, perf });
  /** One query a key, however many requests bring it at once. */
  const asking = new Map<string, Promise<VerifiedKey | ExpiredKey | undefined>>();
  /** A flood of wrong keys gets no more connections of the database than this. */
  const atOnce = pLimit(4);
  const writing = new Set<Promise<unknown>>();
  /** Grows with every revocation: an answer that was under way meanwhile must not be remembered. */
  let revocations = 0;

  /** A key seen within 30 s that has not expired since. */
  function recall(secret: string): VerifiedKey | undefined {
    const hit = known.get(secret);
    if (hit === undefined || hit.expiresAt <= now()) return undefined;
    if (now() - hit.usedAt >= USED_EVERY_MS) noteUse(hit);
    return hit;
  }

  type Verdict = VerifiedKey | ExpiredKey | undefined;

  /** Answers at once for a key seen within 30 s, or that is known to be none. */
  function verify(secret: string): Verdict | Promise<Verdict> {
    const hit = recall(secret);
    if (hit) return hit;
    const expired = known.get(secret);
    if (expired) return expiredKey(expired);
    if (unknown.get(secret)) return undefined;
    let answer = asking.get(secret);
    if (!answer) {
      const before = revocations;
      answer = atOnce(() => ask(secret, before)).finally(() => asking.delete(secret));
      asking.set(secret, answer);
    }
    return answer;
  }

  /** @param before the revocations when the key was presented */
  async function ask(secret: string, before: number): Promise<Verdict> {
    const hash = hashSecret(secret);
    const row = await prisma.apiKey.findUnique({
      where: { hash },
      include: { person: { include: { roles: true } } },
    });
    if (!row || row.revokedAt) {
      unknown.set(secret, true);
      return undefined;
    }
    const { person, projectId } = row;
    const given = row.scopes as Scope[];
    const roles = person && rolesIn(person);
    const scopes = new Set(given.filter((scope) => roles === null || mayGive(roles, projectId, scope)));
    const withheld = new Set(given.filter((scope) => !scopes.has(scope)));
    const found: Known = {
      kind: "key",
      keyId: row.id,
      keyName: row.name,
      projectId,
      scopes,
      ...(row.harness !== null && { harness: row.harness }),
      ...(person && { person: { id: person.id, name: person.name } }),
      ...(withheld.size > 0 && { withheld }),
      expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
      replaced: row.replacedBy !== null,
      hash: Buffer.from(hash).toString("hex"),
      usedAt: row.lastUsedAt?.getTime() ?? 0,
    };
    if (before === revocations) known.set(secret, found);
    if (found.expiresAt <= now()) return expiredKey(found);
    if (now() - found.usedAt >= USED_EVERY_MS) noteUse(found);
    return found;
  }

  /** Behind the answer, and never its reason to fail. The condition keeps several processes to one write. */
  function noteUse(key: Known): void {
    const at = now();
    key.usedAt = at;
    const write = prisma.apiKey
      .updateMany({
        where: {
          projectId: key.projectId,
          id: key.keyId,
          OR: [{ lastUsedAt: null }, { lastUsedAt: { lte: new Date(at - USED_EVERY_MS) } }],
        },
        data: { lastUsedAt: new Date(at) },
      })
      .catch((err: unknown) => log.debug({ err, keyId: key.keyId }, "could not note the use of a key"))
      .finally(() => writing.delete(write));
    writing.add(write);
  }

  /** Forgets one credential by the hex of its sha256, or all of them (null). */
  function forget(hash: string | null): void {
    revocations++;
    if (hash === null) known.clear();
    else for (const [secret, key] of known.entries()) if (key.hash === hash) known.delete(secret);
  }

  /** Has every process read the key again. */
  function end({ hash }: ApiKey): void {
    const hex = Buffer.from(hash).toString("hex");
    forget(hex);
    announce?.(hex);
  }

  return {
    recall,
    verify,
    forget,

    /**
     * The secret is in this answer and nowhere else, ever.
     * @param owner whose key it is; absent: a service's
     * @throws PlimsollError `invalid_field` for an expiry that is over or too far ahead, and for a harness without the scope `self`
     * or the other way round; `forbidden_role` for a scope that the owner's role does not allow
     */
    async create(
      projectId: number,
      input: Omit<CreateKeyInput, "service">,
      actor: Actor,
      owner?: KeyOwner,
    ): Promise<CreatedKey> {
      const at = now();
      if (owner !== undefined) requireGivable(owner.roles, projectId, input.scopes);
      const harness = harnessOfSelf(input);
      const expiresAt = checkedExpiry(input.expires_at, at);
      const { secret, prefix, hash } = makeKey();
      const row = await prisma.$transaction(async (tx) => {
        const created = await tx.apiKey.create({
          data: {
            projectId,
            id: randomUUID(),
            name: input.name,
            prefix,
            hash,
            scopes: [...new Set(input.scopes)],
            harness,
            createdAt: new Date(at),
            expiresAt,
            personId: owner?.id ?? null,
          },
          include: WITH_PERSON,
        });
        await addEntry(tx, at, {
          actor,
          action: "key_created",
          projectId,
          target: input.name,
          detail: detailOf(created),
        });
        return created;
      });
      log.info({ keyId: row.id, prefix, scopes: row.scopes, expiresAt }, "key created");
      return { ...viewOf(row, owner?.id), secret };
    },

    /**
     * Makes a successor with the same name, scopes and length of life. The key itself expires after the grace period, or
     * earlier if it was to expire earlier. Only its owner may rotate a person's key, because the answer shows the successor.
     * @throws PlimsollError `not_found`, or `conflict` for a key that is revoked, expired, replaced already or another's
     */
    async rotate(
      projectId: number,
      id: string,
      grace: Grace,
      actor: Actor,
      by: KeyAccess = {},
    ): Promise<RotatedKey> {
      const at = now();
      const { secret, prefix, hash } = makeKey();
      const successorId = randomUUID();
      const rows = await prisma.$transaction(async (tx) => {
        // The lock makes a second rotation wait, and then find the key replaced.
        await tx.$queryRaw`
          SELECT 1 FROM api_keys WHERE project_id = ${projectId} AND id = ${id}::uuid FOR UPDATE`;
        const old = await tx.apiKey.findFirst({
          where: { projectId, id, ...ownedBy(by) },
          include: WITH_PERSON,
        });
        requireRotatable(old, at);
        if (old.person !== null && old.person.id !== by.personId) {
          throw new PlimsollError(
            "conflict",
            `This key belongs to ${old.person.name}, who alone may rotate it. Revoke it instead.`,
          );
        }
        const end = at + GRACE_MS[grace];
        const replaced = await tx.apiKey.update({
          where: { projectId_id: { projectId, id } },
          data: {
            replacedBy: successorId,
            expiresAt: new Date(Math.min(end, old.expiresAt?.getTime() ?? end)),
          },
          include: WITH_PERSON,
        });
        const successor = await tx.apiKey.create({
          data: {
            projectId,
            id: successorId,
            name: old.name,
            prefix,
            hash,
            scopes: old.scopes,
            harness: old.harness,
            createdAt: new Date(at),
            expiresAt: nextExpiry(old, at),
            personId: old.personId,
          },
          include: WITH_PERSON,
        });
        await addEntry(tx, at, {
          actor,
          action: "key_rotated",
          projectId,
          target: old.name,
          detail: `${old.prefix} replaced by ${detailOf(successor)}; ${grace === "now" ? "no grace period" : `grace period ${grace}`}`,
        });
        return { replaced, successor };
      });
      end(rows.replaced);
      log.info({ keyId: id, prefix: rows.replaced.prefix, successor: prefix, grace }, "key rotated");
      return {
        key: { ...viewOf(rows.successor, by.personId), secret },
        replaced: viewOf(rows.replaced, by.personId),
      };
    },

    /** Newest first, revoked ones included. */
    async list(projectId: number, by: KeyAccess = {}): Promise<KeyView[]> {
      const rows = await prisma.apiKey.findMany({
        where: { projectId, ...ownedBy(by) },
        include: WITH_PERSON,
        orderBy: [{ createdAt: "desc" }, { id: "asc" }],
      });
      return rows.map((row) => viewOf(row, by.personId));
    },

    /**
     * Ends a key for good; doing so again changes nothing.
     * @throws PlimsollError `not_found`
     */
    async revoke(projectId: number, id: string, actor: Actor, by: KeyAccess = {}): Promise<KeyView> {
      const where = { projectId, id, ...ownedBy(by) };
      // The row first, the caches after: the other way round a request in between would cache it again.
      const row = await prisma.$transaction(async (tx) => {
        const { count } = await tx.apiKey.updateMany({
          where: { ...where, revokedAt: null },
          data: { revokedAt: new Date(now()) },
        });
        const revoked = await tx.apiKey.findFirst({ where, include: WITH_PERSON });
        if (!revoked) throw noKey();
        if (count > 0) {
          const { name: target, prefix: detail } = revoked;
          await addEntry(tx, now(), { actor, action: "key_revoked", projectId, target, detail });
        }
        return revoked;
      });
      end(row);
      log.info({ keyId: id, prefix: row.prefix }, "key revoked");
      return viewOf(row, by.personId);
    },

    /** Waits for what is still being written. */
    async settle(): Promise<void> {
      await Promise.all(writing);
    },
  };
}

const expiredKey = ({ expiresAt, replaced }: Known): ExpiredKey => ({
  kind: "expired",
  expiredAt: expiresAt,
  replaced,
});

const noKey = () => new PlimsollError("not_found", "There is no such key.");

/** @returns null without the scope `self` */
function harnessOfSelf({
  scopes,
  harness = null,
}: Pick<CreateKeyInput, "scopes" | "harness">): string | null {
  if (scopes.includes("self") === (harness !== null)) return harness;
  throw new PlimsollError(
    "invalid_field",
    harness === null
      ? "harness: A key with the scope self answers agents of one harness. Name it: support@web-1, or support for all its instances."
      : "harness: Only a key with the scope self names a harness. Add the scope, or leave out the harness.",
    { details: { path: "harness" } },
  );
}

function requireGivable(roles: Roles, projectId: number, scopes: readonly Scope[]): void {
  const refused = scopes.filter((scope) => !mayGive(roles, projectId, scope));
  if (refused.length === 0) return;
  throw new PlimsollError(
    "forbidden_role",
    `Your role does not allow a key with ${refused.join(", ")}. Leave it out, or ask an administrator.`,
  );
}

function requireRotatable<Key extends ApiKey>(key: Key | null, at: number): asserts key is Key {
  if (!key) throw noKey();
  const why =
    key.revokedAt !== null
      ? "was revoked"
      : key.replacedBy !== null
        ? "was replaced already"
        : key.expiresAt !== null && key.expiresAt.getTime() <= at
          ? `expired on ${utcDay(key.expiresAt.getTime())}`
          : undefined;
  if (why === undefined) return;
  throw new PlimsollError("conflict", `The key ${key.prefix} ${why}. Create another key instead.`, {
    details: { replaced_by: key.replacedBy },
  });
}

/** For the audit log. */
function detailOf({ prefix, scopes, harness, expiresAt }: ApiKey): string {
  const expiry = expiresAt === null ? "never expires" : `expires on ${utcDay(expiresAt.getTime())}`;
  const whose = harness === null ? "" : `, agents of ${harness}`;
  return `${prefix}, ${scopes.join(", ")}${whose}, ${expiry}`;
}

function viewOf(row: KeyRow, personId: string | undefined): KeyView {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    scopes: row.scopes as Scope[],
    harness: row.harness,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    expires_at: row.expiresAt?.toISOString() ?? null,
    replaced_by: row.replacedBy,
    person: row.person?.name ?? null,
    own: row.personId !== null && row.personId === personId,
  };
}
