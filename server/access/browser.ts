import { timingSafeEqual } from "node:crypto";
import { parse, serialize } from "hono/utils/cookie";
import { LRUCache } from "lru-cache";
import type { PrismaClient } from "../db/index.ts";
import { PlimsollError } from "../errors.ts";
import { hashSecret, makeToken } from "./key-format.ts";
import type { Throttle } from "./throttle.ts";

export const LOGIN_TOKEN_MS = 15 * 60_000;
/** Login links waiting to be used; making one more ends the oldest. */
const LOGIN_TOKENS = 20;
const SESSION_MS = 30 * 86_400_000;
/** A session in use is prolonged, but its row is not written more often than this. */
const PROLONG_EVERY_MS = 86_400_000;
const TRUST_MS = 30_000;

export interface BrowserOptions {
  prisma: PrismaClient;
  throttle: Throttle;
  /** Tells the other processes that a session ended, by the hex of its sha256. */
  announce?: (hash: string) => void;
  now?: () => number;
}

export interface BrowserVisit {
  /** The cookie should be set again: its 30 days start anew. */
  renew: boolean;
}

export type Browsers = ReturnType<typeof createBrowsers>;

/** How a person's browser gets in: a link that works once, then a cookie for 30 days since its last use. */
export function createBrowsers({ prisma, throttle, announce, now = Date.now }: BrowserOptions) {
  const links: { hash: Uint8Array; expiresAt: number; ended: (() => void) | undefined }[] = [];
  const known = new LRUCache<string, { hash: string; expiresAt: number; checkedAt: number }>({ max: 1_000 });
  let endings = 0;

  /** Looks at all of them, so that the time taken tells nothing. */
  function takeLink(token: string): boolean {
    const given = hashSecret(token);
    let found = -1;
    for (const [index, link] of links.entries()) if (timingSafeEqual(link.hash, given)) found = index;
    if (found < 0) return false;
    const [link] = links.splice(found, 1);
    link!.ended?.();
    return link!.expiresAt > now();
  }

  function forget(hash: string | null): void {
    endings++;
    if (hash === null) known.clear();
    else for (const [token, session] of known.entries()) if (session.hash === hash) known.delete(token);
  }

  return {
    forget,

    /**
     * The secret part of a login link: works once, in this process, for 15 minutes.
     * @param ended called when it was used, or gave way to a newer one
     */
    createLoginToken(ended?: () => void): string {
      const token = makeToken();
      if (links.length >= LOGIN_TOKENS) links.shift()?.ended?.();
      links.push({ hash: hashSecret(token), expiresAt: now() + LOGIN_TOKEN_MS, ended });
      return token;
    },

    /**
     * Exchanges the token of a login link for a session.
     * @param client its address, for the throttle
     * @returns the value of the cookie
     * @throws PlimsollError `unauthenticated`, or `quota_exceeded` for a client with many wrong links. A good link is
     * never refused.
     */
    async login(token: string, client: string): Promise<string> {
      if (!takeLink(token)) {
        throw throttle.failed(
          client,
          new PlimsollError(
            "unauthenticated",
            "This login link was used already or is older than 15 minutes.",
          ),
        );
      }
      const session = makeToken();
      await prisma.browserSession.create({
        data: {
          hash: hashSecret(session),
          createdAt: new Date(now()),
          expiresAt: new Date(now() + SESSION_MS),
        },
      });
      // A convenient moment to clear out what nobody can use any more.
      await prisma.browserSession.deleteMany({ where: { expiresAt: { lte: new Date(now()) } } });
      return session;
    },

    /** @returns undefined for a cookie that is unknown, expired or logged out */
    async verify(session: string): Promise<BrowserVisit | undefined> {
      const hit = known.get(session);
      if (hit && now() - hit.checkedAt < TRUST_MS)
        return hit.expiresAt > now() ? { renew: false } : undefined;
      const before = endings;
      const hash = hashSecret(session);
      const row = await prisma.browserSession.findUnique({ where: { hash } });
      if (!row || row.expiresAt.getTime() <= now()) {
        known.delete(session);
        return undefined;
      }
      let expiresAt = row.expiresAt.getTime();
      const renew = expiresAt - now() < SESSION_MS - PROLONG_EVERY_MS;
      if (renew) {
        expiresAt = now() + SESSION_MS;
        // Not an upsert: a logout meanwhile must stay one.
        await prisma.browserSession.updateMany({ where: { hash }, data: { expiresAt: new Date(expiresAt) } });
      }
      if (before === endings) {
        known.set(session, { hash: Buffer.from(hash).toString("hex"), expiresAt, checkedAt: now() });
      }
      return { renew };
    },

    async logout(session: string): Promise<void> {
      const hash = hashSecret(session);
      await prisma.browserSession.deleteMany({ where: { hash } });
      const hex = Buffer.from(hash).toString("hex");
      forget(hex);
      announce?.(hex);
    },
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
