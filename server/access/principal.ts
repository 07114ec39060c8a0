import type { IncomingMessage } from "node:http";
import type { Scope } from "@plimsoll/protocol";
import { databaseUnavailable } from "../db/unavailable.ts";
import { PlimsollError } from "../errors.ts";
import { type Browsers, sessionOf } from "./browser.ts";
import { shapeOf } from "./key-format.ts";
import type { Keys, VerifiedKey } from "./keys.ts";
import type { LocalToken } from "./local-token.ts";
import { checkOrigin, isLoopbackAddress } from "./origin.ts";
import { DEFAULT_PROJECT } from "./project.ts";

/** Who a request comes from and what it may do. */
export interface Principal {
  kind: "key" | "local" | "browser";
  projectId: number;
  scopes: ReadonlySet<Scope>;
  /** With kind `key`. */
  keyId?: string;
}

/** What a request says about who sent it. Names as in HTTP. */
export interface RequestFacts {
  method: string;
  authorization: string | undefined;
  cookie: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  secFetchSite: string | undefined;
  /** Went through a proxy, so the address is the proxy's. */
  forwarded: boolean;
  remoteAddress: string | undefined;
}

export interface Access {
  /**
   * @returns undefined when nothing was presented, or a cookie that is no longer good
   * @throws PlimsollError `unauthenticated` for a wrong key, `forbidden_scope` for a cookie used from
   * another origin, `database_unreachable`
   */
  authenticate(facts: RequestFacts): Promise<Principal | undefined>;
  /** `authenticate` and `requireScope` in one, for the hot path. */
  authorize(incoming: IncomingMessage, scope: Scope): Promise<Principal>;
}

export interface AccessParts {
  keys: Pick<Keys, "recall" | "verify">;
  browsers: Pick<Browsers, "verify">;
  localToken: LocalToken;
}

const ADMIN: ReadonlySet<Scope> = new Set<Scope>(["admin"]);
const LOCAL: Principal = { kind: "local", projectId: DEFAULT_PROJECT, scopes: ADMIN };
const BROWSER: Principal = { kind: "browser", projectId: DEFAULT_PROJECT, scopes: ADMIN };

const MAKE_A_KEY = "Make one under Setup, or with `plimsoll key create`.";

export function createAccess({ keys, browsers, localToken }: AccessParts): Access {
  /** A key seen a moment ago. All that most requests need. */
  function byKnownKey(authorization: string | undefined): Principal | undefined {
    return authorization?.startsWith("Bearer plim_") ? keys.recall(authorization.slice(7)) : undefined;
  }

  async function byToken(token: string, facts: RequestFacts): Promise<Principal> {
    switch (shapeOf(token)) {
      case "key":
        return notNobody(await orUnreachable(keys.verify(token)));
      case "local":
        if (facts.forwarded || !isLoopbackAddress(facts.remoteAddress)) {
          throw unauthenticated(`The local token works only on the server's own machine. ${MAKE_A_KEY}`);
        }
        if (await localToken.matches(token)) return LOCAL;
        throw unauthenticated(
          "This is not the local token of this server. Is PLIMSOLL_HOME the same for the command and the server?",
        );
      case "mistyped":
        throw unauthenticated(
          "The key has a typing error or is cut short: its checksum is wrong. Copy it again.",
        );
      case "foreign":
        throw unauthenticated(`That is no Plimsoll key: those begin with plim_. ${MAKE_A_KEY}`);
    }
  }

  async function byCookie(session: string, facts: RequestFacts): Promise<Principal | undefined> {
    if (!(await orUnreachable(browsers.verify(session)))) return undefined;
    const reads = facts.method === "GET" || facts.method === "HEAD";
    // A browser keeps other origins from reading an answer; one that names them is spared the work as well.
    const elsewhere = facts.secFetchSite === "same-site" || facts.secFetchSite === "cross-site";
    if (reads ? !elsewhere : checkOrigin(facts)) return BROWSER;
    throw new PlimsollError("forbidden_scope", "A page of another origin may not use this browser's login.");
  }

  async function authenticate(facts: RequestFacts): Promise<Principal | undefined> {
    const known = byKnownKey(facts.authorization);
    if (known) return known;
    if (facts.authorization !== undefined) return byToken(bearer(facts.authorization), facts);
    const session = sessionOf(facts);
    return session === undefined ? undefined : byCookie(session, facts);
  }

  return {
    authenticate,
    async authorize(incoming, scope) {
      const known = byKnownKey(incoming.headers.authorization);
      return requireScope(known ?? (await authenticate(factsOf(incoming))), scope);
    },
  };
}

/** @throws PlimsollError `unauthenticated` or `forbidden_scope`, saying what to do */
export function requireScope(principal: Principal | undefined, scope: Scope): Principal {
  if (!principal) {
    throw unauthenticated(`Send a key: Authorization: Bearer plim_... ${MAKE_A_KEY}`);
  }
  if (principal.scopes.has(scope) || principal.scopes.has("admin")) return principal;
  throw new PlimsollError(
    "forbidden_scope",
    `This key lacks the scope ${scope}; it has ${[...principal.scopes].join(", ") || "none"}. ${MAKE_A_KEY}`,
    { details: { required: scope } },
  );
}

export function factsOf(incoming: IncomingMessage): RequestFacts {
  const { headers } = incoming;
  return {
    method: incoming.method ?? "GET",
    authorization: headers.authorization,
    cookie: headers.cookie,
    host: headers.host,
    origin: headers.origin,
    secFetchSite: headers["sec-fetch-site"] as string | undefined,
    forwarded: headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined,
    remoteAddress: incoming.socket.remoteAddress,
  };
}

function bearer(authorization: string): string {
  if (/^bearer /i.test(authorization)) return authorization.slice("bearer ".length).trim();
  throw unauthenticated("Authorization must read: Bearer plim_...");
}

function notNobody(key: VerifiedKey | undefined): Principal {
  if (!key) throw unauthenticated(`This key is unknown or revoked. ${MAKE_A_KEY}`);
  return key;
}

/** A sender must try again when the database is away, and must not when its key is wrong. */
async function orUnreachable<T>(answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw databaseUnavailable(cause);
  }
}

const unauthenticated = (message: string) => new PlimsollError("unauthenticated", message);
