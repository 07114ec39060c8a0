import { randomUUID, timingSafeEqual } from "node:crypto";
import type { BrowserView } from "@plimsoll/protocol/api";
import { parse, serialize } from "hono/utils/cookie";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { BrowserSession } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeToken } from "../../key-format.ts";
import type { SecretBox } from "../../secret-box.ts";
import { DAY_MS, HOUR_MS } from "../../times.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import { type IdentityProvider, RENEW_MS, type Renewal } from "../people/identity-provider.ts";
import { type People, rolesIn } from "../people/people.ts";
import type { Roles } from "../people/permissions.ts";
import { browserName } from "./browser-name.ts";
import type { Throttle } from "./throttle.ts";

export const LOGIN_TOKEN_MS = 15 * 60_000;
const SESSION_MS = 30 * DAY_MS;
/** A session in use is prolonged, but its row is not written more often than this. */
const PROLONG_EVERY_MS = DAY_MS;
/** The time a session was last seen is not written more often than this. */
const SEEN_EVERY_MS = HOUR_MS;
const TRUST_MS = 30_000;
/** Who has a login link of the server. */
const OWNER = "owner";

export interface BrowserOptions {
  prisma: PrismaClient;
  throttle: Throttle;
  /** PLIMSOLL_ACCESS_TOKEN, with which a person signs in from another machine. */
  accessToken?: string | undefined;
  /** Tells the other processes that a session ended, by the hex of its sha256. */
  announce?: (hash: string) => void;
  /** Whose a link is that an administrator made for a person. */
  personByLink?: People["admitByLink"] | undefined;
  /** How people of the identity provider are kept. */
  identities?: Identities | undefined;
  /** Told of a login with a link that is no good, by the address of the client. */
  failed?: (client: string) => void;
  now?: () => number;
}

export interface Identities {
  provider: Pick<IdentityProvider, "renew">;
  people: Pick<People, "renew">;
  /** Encrypts the tokens of the provider. */
  box: Pick<SecretBox, "seal" | "open">;
}

/** Who signed in as themselves. */
export interface Visitor {
  id: string;
  name: string;
  roles: Roles;
}

/** Who begins a session. */
export interface Entrant {
  id: string;
  name: string;
  /** Of a person of the identity provider. */
  renewal?: Renewal;
}

export interface BrowserVisit {
  /** The cookie should be set again: its 30 days start anew. */
  renew: boolean;
  /** Names the session; gives no access. */
  id: string;
  /** Such as `Firefox on Linux`. */
  name: string | null;
  person?: Visitor | undefined;
}

interface KnownSession {
  id: string;
  name: string | null;
  person: Visitor | undefined;
  hash: string;
  expiresAt: number;
  checkedAt: number;
}

export type Browsers = ReturnType<typeof createBrowsers>;

/** How a person's browser gets in: a link that works once, then a cookie for 30 days since its last use. */
export function createBrowsers(options: BrowserOptions) {
  const {
    prisma,
    throttle,
    accessToken,
    announce,
    failed,
    personByLink,
    identities,
    now = Date.now,
  } = options;
  /** Of links made here, by the hex of their sha256. */
  const usedListeners = new Map<string, () => void>();
  const known = new LRUCache<string, KnownSession>({ max: 1_000 });
  /** A flood of wrong links gets no more connections of the database than this. */
  const lookingUp = pLimit(2);
  let endings = 0;

  async function takeLink(token: string): Promise<boolean> {
    const hash = hashSecret(token);
    const unexpired = { expiresAt: { gt: new Date(now()) } };
    const { count } = await prisma.loginLink.deleteMany({ where: { hash, ...unexpired } });
    const hex = Buffer.from(hash).toString("hex");
    if (count > 0) usedListeners.get(hex)?.();
    usedListeners.delete(hex);
    return count > 0;
  }

  function forget(hash: string | null): void {
    endings++;
    if (hash === null) known.clear();
    else for (const [token, session] of known.entries()) if (session.hash === hash) known.delete(token);
  }

  /** Writes that a session is used, where that is due. Not an upsert: a logout meanwhile must stay one. */
  async function noteVisit(row: BrowserSession, address: string | undefined): Promise<{ renew: boolean }> {
    const at = now();
    const renew = row.expiresAt.getTime() - at < SESSION_MS - PROLONG_EVERY_MS;
    const seen = at - row.lastSeenAt.getTime() >= SEEN_EVERY_MS;
    if (renew || seen) {
      await prisma.browserSession.updateMany({
        where: { hash: row.hash },
        data: {
          ...(renew && { expiresAt: new Date(at + SESSION_MS) }),
          ...(seen && { lastSeenAt: new Date(at), ...(address && { address }) }),
        },
      });
    }
    return { renew };
  }

  /** @returns the value of the cookie of a new session */
  async function begin(
    client: string,
    userAgent: string | undefined,
    { detail, person }: { detail?: string; person?: Entrant } = {},
  ): Promise<string> {
    const session = makeToken();
    const at = new Date(now());
    const { id, name, address } = {
      id: randomUUID(),
      name: browserName(userAgent),
      address: client || null,
    };
    await prisma.$transaction(async (tx) => {
      await tx.browserSession.create({
        data: {
          hash: hashSecret(session),
          id,
          createdAt: at,
          expiresAt: new Date(at.getTime() + SESSION_MS),
          lastSeenAt: at,
          address,
          browser: name,
          personId: person?.id ?? null,
          ...(person?.renewal && {
            renewal: identities?.box.seal(JSON.stringify(person.renewal), id) ?? null,
            renewedAt: at,
          }),
        },
      });
      const actor: Actor = person
        ? { kind: "person", id: person.id, name: person.name, address }
        : { kind: "browser", id, name, address };
      await addEntry(tx, at.getTime(), { actor, action: "login", ...(detail !== undefined && { detail }) });
    });
    // A convenient moment to clear out what nobody can use any more.
    await prisma.browserSession.deleteMany({ where: { expiresAt: { lte: new Date(now()) } } });
    return session;
  }

  /** Ends sessions here and in the other processes. */
  function end(sessions: readonly { hash: Uint8Array }[]): void {
    for (const { hash } of sessions) {
      const hex = Buffer.from(hash).toString("hex");
      forget(hex);
      announce?.(hex);
    }
  }

  const read = (hash: Uint8Array<ArrayBuffer>) =>
    prisma.browserSession.findUnique({ where: { hash }, include: { person: { include: { roles: true } } } });
  type SessionRow = NonNullable<Awaited<ReturnType<typeof read>>>;

  /**
   * Asks the identity provider whether the person of a session may still be here, where that is due. One process asks at a time;
   * the others go on with what is known.
   * @returns the session as it is then; undefined if it ended
   */
  async function renewed(row: SessionRow): Promise<SessionRow | undefined> {
    const at = now();
    if (row.personId === null || row.renewedAt === null || at - row.renewedAt.getTime() < RENEW_MS)
      return row;
    const { count } = await prisma.browserSession.updateMany({
      where: { hash: row.hash, renewedAt: row.renewedAt },
      data: { renewedAt: new Date(at) },
    });
    if (count === 0) return (await read(row.hash)) ?? undefined;
    const text = row.renewal === null ? undefined : identities?.box.open(row.renewal, row.id);
    // Without an identity provider, or with another key, nobody can say that the person may still be here.
    const answer =
      text === undefined || identities === undefined
        ? ({ status: "ended" } as const)
        : await identities.provider.renew(JSON.parse(text) as Renewal);
    if (answer.status === "refused") await identities!.people.renew(answer.identity);
    if (answer.status === "ended" || answer.status === "refused") {
      const target = `${row.person?.name}: ${described(row)}`;
      const detail =
        text === undefined
          ? "nobody can say whether the person may still be here"
          : "the identity provider no longer lets the person in";
      await prisma.$transaction(async (tx) => {
        const ended = await tx.browserSession.deleteMany({ where: { hash: row.hash } });
        const note = { actor: { kind: "server" }, action: "browser_signed_out", target, detail } as const;
        if (ended.count > 0) await addEntry(tx, at, note);
      });
      end([row]);
      return undefined;
    }
    // First of all: the refresh token before may work no more.
    await prisma.browserSession.updateMany({
      where: { hash: row.hash },
      data: { renewal: identities!.box.seal(JSON.stringify(answer.renewal), row.id) },
    });
    if (answer.status === "current") await identities!.people.renew(answer.identity);
    return (await read(row.hash)) ?? undefined;
  }

  return {
    forget,

    /**
     * A session for a person.
     * @returns the value of the cookie
     */
    loginAs: (
      person: Entrant,
      client: string,
      { userAgent, detail }: { userAgent: string | undefined; detail?: string },
    ): Promise<string> => begin(client, userAgent, { person, ...(detail !== undefined && { detail }) }),

    /**
     * The secret part of a login link: works once, in every process, for 15 minutes.
     * @param used called when it was used in this process
     */
    async createLoginToken(used?: () => void): Promise<string> {
      const token = makeToken();
      const hash = hashSecret(token);
      const at = now();
      await prisma.loginLink.deleteMany({ where: { expiresAt: { lte: new Date(at) } } });
      await prisma.loginLink.create({ data: { hash, expiresAt: new Date(at + LOGIN_TOKEN_MS) } });
      if (used) usedListeners.set(Buffer.from(hash).toString("hex"), used);
      return token;
    },

    /**
     * Exchanges the token of a login link, or of a person's, for a session.
     * @param client its address, for the throttle and the list of sessions
     * @param userAgent the header, to tell sessions apart
     * @returns `session` is the value of the cookie
     * @throws PlimsollError `unauthenticated`, or `quota_exceeded` for a client with many wrong links. A good link is
     * never refused.
     */
    async login(
      token: string,
      client: string,
      userAgent?: string,
    ): Promise<{ session: string; isPerson: boolean }> {
      const visitor = await lookingUp(async () => ((await takeLink(token)) ? OWNER : personByLink?.(token)));
      if (visitor === OWNER) return { session: await begin(client, userAgent), isPerson: false };
      if (visitor) {
        const session = await begin(client, userAgent, { person: visitor, detail: "with a link" });
        return { session, isPerson: true };
      }
      failed?.(client);
      throw throttle.failed(
        client,
        new PlimsollError(
          "unauthenticated",
          "This login link was used already or is too old. Ask its sender for another.",
        ),
      );
    },

    takesAccessToken: accessToken !== undefined,

    /**
     * Exchanges the access token of the server for a session. A person may have chosen it, so a client with many wrong ones is
     * refused unread; a login link still lets the owner in.
     * @returns the value of the cookie
     * @throws PlimsollError `unauthenticated`, or `quota_exceeded`
     */
    async loginWithAccessToken(given: string, client: string, userAgent?: string): Promise<string> {
      throttle.check(client);
      if (accessToken !== undefined && timingSafeEqual(hashSecret(given), hashSecret(accessToken)))
        return begin(client, userAgent, { detail: "with the access token" });
      failed?.(client);
      const message =
        accessToken === undefined
          ? "This server has no access token. Use a login link."
          : "This is not the access token of this server.";
      throw throttle.failed(client, new PlimsollError("unauthenticated", message));
    },

    /**
     * @param address of the client, if it is known
     * @returns undefined for a cookie that is unknown, expired or logged out
     */
    async verify(session: string, address?: string): Promise<BrowserVisit | undefined> {
      const hit = known.get(session);
      if (hit && now() - hit.checkedAt < TRUST_MS)
        return hit.expiresAt > now()
          ? { renew: false, id: hit.id, name: hit.name, person: hit.person }
          : undefined;
      const before = endings;
      const hash = hashSecret(session);
      const stored = await read(hash);
      const row = stored && (await renewed(stored));
      if (!row || row.expiresAt.getTime() <= now()) {
        known.delete(session);
        return undefined;
      }
      const { renew } = await noteVisit(row, address);
      const { id, browser: name } = row;
      const person = row.person
        ? { id: row.person.id, name: row.person.name, roles: rolesIn(row.person) }
        : undefined;
      const expiresAt = renew ? now() + SESSION_MS : row.expiresAt.getTime();
      if (before === endings) {
        const hex = Buffer.from(hash).toString("hex");
        known.set(session, { id, name, person, hash: hex, expiresAt, checkedAt: now() });
      }
      return { renew, id, name, person };
    },

    /**
     * The browsers that are signed in, most recently seen first.
     * @param current the id of the session that asks
     * @param personId who asks, if a person
     * @param onlyOwn without those of others
     */
    async list(
      current: string | undefined,
      personId: string | undefined,
      onlyOwn: boolean,
    ): Promise<BrowserView[]> {
      const rows = await prisma.browserSession.findMany({
        where: { expiresAt: { gt: new Date(now()) }, ...(onlyOwn && { personId: personId ?? null }) },
        include: { person: true },
        orderBy: [{ lastSeenAt: "desc" }, { createdAt: "desc" }, { id: "asc" }],
      });
      return rows.map((row) => viewOf(row, current, personId));
    },

    /** Ends the session of this cookie at the wish of its browser. */
    async logout(session: string, actor: Actor): Promise<void> {
      const hash = hashSecret(session);
      await prisma.$transaction(async (tx) => {
        const { count } = await tx.browserSession.deleteMany({ where: { hash } });
        if (count > 0) await addEntry(tx, now(), { actor, action: "logout" });
      });
      end([{ hash }]);
    },

    /**
     * Ends a session.
     * @param personId whose it must be, unless undefined
     * @throws PlimsollError `not_found`
     */
    async signOut(id: string, actor: Actor, personId?: string): Promise<void> {
      const where = { id, ...(personId !== undefined && { personId }) };
      const row = await prisma.$transaction(async (tx) => {
        const [found] = await tx.browserSession.findMany({ where });
        const { count } = await tx.browserSession.deleteMany({ where });
        if (found === undefined || count === 0) {
          throw new PlimsollError(
            "not_found",
            "There is no such browser session. It may have ended already.",
          );
        }
        await addEntry(tx, now(), { actor, action: "browser_signed_out", target: described(found) });
        return found;
      });
      end([row]);
    },

    /**
     * Ends all sessions but one.
     * @param kept its id; undefined ends all of them
     * @param personId whose; undefined: everybody's
     * @returns how many ended
     */
    async signOutOthers(kept: string | undefined, actor: Actor, personId?: string): Promise<number> {
      const ended = await prisma.$transaction(async (tx) => {
        const rows = await tx.$queryRaw<{ hash: Uint8Array }[]>`
          DELETE FROM browser_sessions WHERE id IS DISTINCT FROM ${kept ?? null}::uuid
            AND (${personId ?? null}::uuid IS NULL OR person_id = ${personId ?? null}::uuid)
          RETURNING hash`;
        if (rows.length > 0) {
          const target = `${rows.length} ${kept === undefined ? "" : "other "}${rows.length === 1 ? "browser" : "browsers"}`;
          await addEntry(tx, now(), { actor, action: "browser_signed_out", target });
        }
        return rows;
      });
      end(ended);
      return ended.length;
    },
  };
}

/** For the audit log. */
const described = ({ browser, address }: BrowserSession) =>
  [browser ?? "unknown browser", ...(address === null ? [] : [address])].join(", ");

function viewOf(
  row: BrowserSession & { person: { name: string } | null },
  current: string | undefined,
  personId: string | undefined,
): BrowserView {
  return {
    id: row.id,
    person: row.person?.name ?? null,
    current: row.id === current,
    own: row.personId !== null && row.personId === personId,
    browser: row.browser,
    address: row.address,
    created_at: row.createdAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  };
}

/**
 * The link that logs a browser in. The token stands behind the #: a browser sends that part nowhere, so it
 * is in no log and no Referer.
 * @param origin such as http://127.0.0.1:4180
 */
export const loginUrl = (origin: string, token: string): string => `${origin}/login#${token}`;

/** The facts about a request that its session cookie depends on. */
interface Asked {
  /** The Host header. */
  host: string | undefined;
  /** Whether the browser reached the server over HTTPS. */
  secure: boolean;
}

/**
 * Browsers send a cookie to every port of a host. The name contains the port of the Host header, so two servers on one
 * machine keep separate sessions. It has no suffix on the default port.
 */
export function cookieName(host: string | undefined): string {
  const port = /:(\d+)$/.exec(host ?? "")?.[1];
  return port === undefined ? "plimsoll_session" : `plimsoll_session_${port}`;
}

/** The Set-Cookie header that logs a browser in for 30 days. */
export function sessionCookie(session: string, asked: Asked): string {
  return setCookie(session, SESSION_MS / 1000, asked);
}

/** The Set-Cookie header that logs a browser out. */
export function expiredCookie(asked: Asked): string {
  return setCookie("", 0, asked);
}

function setCookie(value: string, maxAge: number, { host, secure }: Asked): string {
  return serialize(cookieName(host), value, {
    path: "/",
    httpOnly: true,
    sameSite: "Strict",
    maxAge,
    secure,
  });
}

/** The session in a request's Cookie header; undefined if there is none or its format is wrong. */
export function sessionOf({
  cookie,
  host,
}: {
  cookie: string | undefined;
  host: string | undefined;
}): string | undefined {
  const name = cookieName(host);
  const session = parse(cookie ?? "", name)[name];
  return session !== undefined && /^[0-9A-Za-z]{43}$/.test(session) ? session : undefined;
}
