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
import type { ApiKey } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeKey } from "../../key-format.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
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
    const row = await prisma.apiKey.findUnique({ where: { hash } });
    if (!row || row.revokedAt) {
      unknown.set(secret, true);
      return undefined;
    }
    const found: Known = {
      kind: "key",
      keyId: row.id,
      keyName: row.name,
      projectId: row.projectId,
      scopes: new Set(row.scopes as Scope[]),
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
     * @throws PlimsollError `invalid_field` for an expiry that is over or too far ahead
     */
    async create(projectId: number, input: CreateKeyInput, actor: Actor): Promise<CreatedKey> {
      const at = now();
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
            createdAt: new Date(at),
            expiresAt,
          },
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
      return { ...viewOf(row), secret };
    },

    /**
     * Makes a successor with the same name, scopes and length of life. The key itself expires after the grace period, or
     * earlier if it was to expire earlier.
     * @throws PlimsollError `not_found`, or `conflict` for a key that is revoked, expired or replaced already
     */
    async rotate(projectId: number, id: string, grace: Grace, actor: Actor): Promise<RotatedKey> {
      const at = now();
      const { secret, prefix, hash } = makeKey();
      const successorId = randomUUID();
      const rows = await prisma.$transaction(async (tx) => {
        // The lock makes a second rotation wait, and then find the key replaced.
        await tx.$queryRaw`
          SELECT 1 FROM api_keys WHERE project_id = ${projectId} AND id = ${id}::uuid FOR UPDATE`;
        const old = await tx.apiKey.findUnique({ where: { projectId_id: { projectId, id } } });
        requireRotatable(old, at);
        const end = at + GRACE_MS[grace];
        const replaced = await tx.apiKey.update({
          where: { projectId_id: { projectId, id } },
          data: {
            replacedBy: successorId,
            expiresAt: new Date(Math.min(end, old.expiresAt?.getTime() ?? end)),
          },
        });
        const successor = await tx.apiKey.create({
          data: {
            projectId,
            id: successorId,
            name: old.name,
            prefix,
            hash,
            scopes: old.scopes,
            createdAt: new Date(at),
            expiresAt: nextExpiry(old, at),
          },
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
      return { key: { ...viewOf(rows.successor), secret }, replaced: viewOf(rows.replaced) };
    },

    /** Newest first, revoked ones included. */
    async list(projectId: number): Promise<KeyView[]> {
      const rows = await prisma.apiKey.findMany({
        where: { projectId },
        orderBy: [{ createdAt: "desc" }, { id: "asc" }],
      });
      return rows.map(viewOf);
    },

    /**
     * Ends a key for good; doing so again changes nothing.
     * @throws PlimsollError `not_found`
     */
    async revoke(projectId: number, id: string, actor: Actor): Promise<KeyView> {
      // The row first, the caches after: the other way round a request in between would cache it again.
      const row = await prisma.$transaction(async (tx) => {
        const { count } = await tx.apiKey.updateMany({
          where: { projectId, id, revokedAt: null },
          data: { revokedAt: new Date(now()) },
        });
        const revoked = await tx.apiKey.findUnique({ where: { projectId_id: { projectId, id } } });
        if (!revoked) throw noKey();
        if (count > 0) {
          const { name: target, prefix: detail } = revoked;
          await addEntry(tx, now(), { actor, action: "key_revoked", projectId, target, detail });
        }
        return revoked;
      });
      end(row);
      log.info({ keyId: id, prefix: row.prefix }, "key revoked");
      return viewOf(row);
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

function requireRotatable(key: ApiKey | null, at: number): asserts key is ApiKey {
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
function detailOf({ prefix, scopes, expiresAt }: ApiKey): string {
  const expiry = expiresAt === null ? "never expires" : `expires on ${utcDay(expiresAt.getTime())}`;
  return `${prefix}, ${scopes.join(", ")}, ${expiry}`;
}

function viewOf(row: ApiKey): KeyView {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    scopes: row.scopes as Scope[],
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    expires_at: row.expiresAt?.toISOString() ?? null,
    replaced_by: row.replacedBy,
  };
}
