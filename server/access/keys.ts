import { randomUUID } from "node:crypto";
import type { CreatedKey, CreateKeyInput, KeyView, Scope } from "@plimsoll/protocol";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { ApiKey } from "../db/generated/client.ts";
import type { PrismaClient } from "../db/index.ts";
import { PlimsollError } from "../errors.ts";
import { hashSecret, makeKey } from "./key-format.ts";

/** How long a process trusts what it knows of a key, in ms. Revocation is told at once; this is the net below. */
const TRUST_MS = 30_000;
/** How long an unknown key stays unknown without asking again, in ms. */
const DISTRUST_MS = 5_000;
const USED_EVERY_MS = 60_000;

/** A principal already, so that letting a request in makes no object. */
export interface VerifiedKey {
  kind: "key";
  keyId: string;
  projectId: number;
  scopes: ReadonlySet<Scope>;
}

interface Known extends VerifiedKey {
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
  const asking = new Map<string, Promise<VerifiedKey | undefined>>();
  /** A flood of wrong keys gets no more connections of the database than this. */
  const atOnce = pLimit(4);
  const writing = new Set<Promise<unknown>>();
  /** Grows with every revocation: an answer that was under way meanwhile must not be remembered. */
  let revocations = 0;

  /** A key seen within 30 s. */
  function recall(secret: string): VerifiedKey | undefined {
    const hit = known.get(secret);
    if (hit && now() - hit.usedAt >= USED_EVERY_MS) noteUse(hit);
    return hit;
  }

  /** Answers at once for a key that `recall` knows, or that is known to be none. */
  function verify(secret: string): VerifiedKey | undefined | Promise<VerifiedKey | undefined> {
    const hit = recall(secret);
    if (hit) return hit;
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
  async function ask(secret: string, before: number): Promise<VerifiedKey | undefined> {
    const hash = hashSecret(secret);
    const row = await prisma.apiKey.findUnique({ where: { hash } });
    if (!row || row.revokedAt) {
      unknown.set(secret, true);
      return undefined;
    }
    const found: Known = {
      kind: "key",
      keyId: row.id,
      projectId: row.projectId,
      scopes: new Set(row.scopes as Scope[]),
      hash: Buffer.from(hash).toString("hex"),
      usedAt: row.lastUsedAt?.getTime() ?? 0,
    };
    if (before === revocations) known.set(secret, found);
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

  return {
    recall,
    verify,
    forget,

    /** The secret is in this answer and nowhere else, ever. */
    async create(projectId: number, input: CreateKeyInput): Promise<CreatedKey> {
      const { secret, prefix, hash } = makeKey();
      const row = await prisma.apiKey.create({
        data: {
          projectId,
          id: randomUUID(),
          name: input.name,
          prefix,
          hash,
          scopes: [...new Set(input.scopes)],
          createdAt: new Date(now()),
        },
      });
      log.info({ keyId: row.id, prefix, scopes: row.scopes }, "key created");
      return { ...viewOf(row), secret };
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
    async revoke(projectId: number, id: string): Promise<KeyView> {
      // The row first, the caches after: the other way round a request in between would cache it again.
      await prisma.apiKey.updateMany({
        where: { projectId, id, revokedAt: null },
        data: { revokedAt: new Date(now()) },
      });
      const row = await prisma.apiKey.findUnique({ where: { projectId_id: { projectId, id } } });
      if (!row) throw new PlimsollError("not_found", "There is no such key.");
      const hash = Buffer.from(row.hash).toString("hex");
      forget(hash);
      announce?.(hash);
      log.info({ keyId: id, prefix: row.prefix }, "key revoked");
      return viewOf(row);
    },

    /** Waits for what is still being written. */
    async settle(): Promise<void> {
      await Promise.all(writing);
    },
  };
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
  };
}
