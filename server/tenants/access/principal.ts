import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import {
  DEFAULT_PROJECT_ID,
  LOCAL_SCHEME,
  PROJECT_HEADER,
  PROJECT_PARAMETER,
  type Scope,
} from "@plimsoll/protocol/api";
import { databaseUnavailable } from "../../db/unavailable.ts";
import { PlimsollError } from "../../errors.ts";
import { shapeOf } from "../../key-format.ts";
import { isLoopbackAddress } from "../../networks.ts";
import type { Actor } from "../audit/entry.ts";
import {
  mayKey,
  mayPerson,
  OWNER,
  PERMISSIONS,
  type Permission,
  type Roles,
  roleIn,
} from "../people/permissions.ts";
import type { Project, ProjectDirectory } from "../projects/directory.ts";
import { noProject, requireOpen } from "../projects/projects.ts";
import { type Browsers, sessionOf } from "./browser.ts";
import { clientAddress, type TrustedProxies, wentThroughProxy } from "./client-address.ts";
import { utcDay } from "./expiry.ts";
import type { ExpiredKey, Keys, VerifiedKey } from "./keys.ts";
import type { LocalToken } from "./local-token.ts";
import { checkOrigin, checkReader } from "./origin.ts";
import type { Quota } from "./quota.ts";
import type { Throttle } from "./throttle.ts";

/** Who a request comes from and what it may do. */
export interface Principal {
  kind: "key" | "local" | "browser";
  /** The project of the request: a key's own, or the one that a person asked for. */
  projectId: number;
  /** Of a key. Empty for a person, who has roles. */
  scopes: ReadonlySet<Scope>;
  /** Absent with kind `key`. */
  roles?: Roles;
  /** Who signed in as themselves, or whose key it is. */
  person?: { id: string; name: string };
  /** Scopes that the key lacks now for its owner's role. */
  withheld?: ReadonlySet<Scope>;
  /** With kind `key`. */
  keyId?: string;
  keyName?: string;
  /** Of a key with the scope `self`: whose agents it answers, an instance or a family. */
  harness?: string;
  /** With kind `browser`: its session, the address of this request's client, and the origin of the page that asks. */
  browser?: { id: string; name: string | null; address: string; origin?: string | undefined };
}

/** What a request says about who sent it. Names as in HTTP. */
export interface RequestFacts {
  method: string;
  authorization: string | undefined;
  cookie: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  secFetchSite: string | undefined;
  /** The request came over TLS of this server. */
  encrypted?: boolean;
  /** The id or name of the project asked for. */
  project: string | undefined;
  /** Went through a proxy, so the address is the proxy's. */
  forwarded: boolean;
  /** The header X-Forwarded-For. */
  forwardedFor: string | undefined;
  remoteAddress: string | undefined;
}

export interface Access {
  /**
   * @returns undefined when nothing was presented, or a cookie that is no longer good
   * @throws PlimsollError `unauthenticated` for a wrong key, `forbidden_scope` for a cookie used from
   * another origin, `not_found` for an unknown project, `wrong_project` for a key that asks for another project
   * than its own, `quota_exceeded` after many wrong keys of one client, `database_unreachable`
   */
  authenticate(facts: RequestFacts): Promise<Principal | undefined>;
  /**
   * `authenticate` and `requirePermission` in one, for the hot path.
   * @throws PlimsollError also `project_archived`, with a permission to send
   */
  authorize(incoming: IncomingMessage, permission: Permission): Promise<Principal>;
  /**
   * `authorize`, counted as one call of the key.
   * @param permission `read` by default
   * @throws PlimsollError also `quota_exceeded`
   */
  authorizeRead(incoming: IncomingMessage, permission?: Permission): Promise<Principal>;
  /** The address that a request came from, as far as trusted proxies tell. */
  clientOf(facts: Pick<RequestFacts, "remoteAddress" | "forwardedFor">): string;
}

export interface AccessParts {
  keys: Pick<Keys, "recall" | "verify">;
  browsers: Pick<Browsers, "verify">;
  localToken: Pick<LocalToken, "matches" | "acceptsProof">;
  projects: Pick<ProjectDirectory, "recall" | "get" | "find">;
  /** Of wrong credentials. */
  throttle: Throttle;
  proxies: TrustedProxies;
  /** Bounds the calls of each key. */
  reads: Pick<Quota, "take">;
}

const NO_SCOPES: ReadonlySet<Scope> = new Set();

const LOCAL_PREFIX = `${LOCAL_SCHEME} `;
const MAKE_A_KEY = "Make one under Setup, or with `npx plimsoll key create`.";
const MAKE_ANOTHER = MAKE_A_KEY.replace("one", "another");

export function createAccess(parts: AccessParts): Access {
  const { keys, browsers, localToken, projects, throttle, proxies, reads } = parts;
  const clientOf: Access["clientOf"] = (facts) =>
    clientAddress(facts.remoteAddress, facts.forwardedFor, proxies);

  /** A key seen a moment ago, of a project that was there a moment ago. All that most requests need. */
  function byKnownKey(authorization: string | undefined): Principal | undefined {
    const key = authorization?.startsWith("Bearer plim_") ? keys.recall(authorization.slice(7)) : undefined;
    return key && projects.recall(key.projectId) ? key : undefined;
  }

  /** A key works in its own project, and only while that project exists. */
  async function byKey(token: string, asked: string | undefined): Promise<Principal> {
    const key = notNobody(await orUnreachable(keys.verify(token)));
    const own = await orUnreachable(projects.get(key.projectId));
    if (!own) throw unknownKey();
    if (asked === undefined || asked === own.name || asked === String(own.id)) return key;
    throw new PlimsollError(
      "wrong_project",
      `This key belongs to the project ${own.name} and works only there, but the request names the project ${asked}.`,
    );
  }

  /** A project in which a person has no role does not exist for them. Without any role, none is looked up. */
  async function person(
    kind: "local" | "browser",
    asked: string | undefined,
    roles = OWNER,
  ): Promise<Principal> {
    if (asked === undefined || (roles.everywhere === null && roles.projects.size === 0))
      return { kind, projectId: homeOf(roles), scopes: NO_SCOPES, roles };
    const project = await orUnreachable(projects.find(asked));
    if (!project || roleIn(roles, project.id) === null) throw noProject(asked);
    return { kind, projectId: project.id, scopes: NO_SCOPES, roles };
  }

  async function byLocalToken(matches: () => Promise<boolean>, facts: RequestFacts): Promise<Principal> {
    if (facts.forwarded || !isLoopbackAddress(facts.remoteAddress)) {
      throw unauthenticated(`The local token works only on the server's own machine. ${MAKE_A_KEY}`);
    }
    if (await matches()) return person("local", facts.project);
    throw unauthenticated(
      "This is not the local token of this server. Is PLIMSOLL_HOME the same for the command and the server?",
    );
  }

  async function byToken(token: string, facts: RequestFacts): Promise<Principal> {
    switch (shapeOf(token)) {
      case "key":
        return byKey(token, facts.project);
      case "local":
        return byLocalToken(() => localToken.matches(token), facts);
      case "mistyped":
        throw unauthenticated(
          "The key has a typing error or is cut short: its checksum is wrong. Copy it again.",
        );
      case "foreign":
        throw unauthenticated(`That is no Plimsoll key: those begin with plim_. ${MAKE_A_KEY}`);
    }
  }

  async function byHeader(authorization: string, facts: RequestFacts): Promise<Principal> {
    try {
      if (!authorization.startsWith(LOCAL_PREFIX)) return await byToken(bearer(authorization), facts);
      const proof = authorization.slice(LOCAL_PREFIX.length);
      return await byLocalToken(() => localToken.acceptsProof(proof), facts);
    } catch (error) {
      // An expired key was right once: its sender hears the same answer for as long as it asks.
      if (!(error instanceof PlimsollError) || error.code !== "unauthenticated" || hasExpired(error))
        throw error;
      throw throttle.failed(clientOf(facts), error);
    }
  }

  async function byCookie(session: string, facts: RequestFacts): Promise<Principal | undefined> {
    const address = clientOf(facts);
    const visit = await orUnreachable(browsers.verify(session, address));
    if (!visit) return undefined;
    const reads = facts.method === "GET" || facts.method === "HEAD";
    if (reads ? checkReader(facts) : checkOrigin(facts)) {
      const { person: who } = visit;
      return {
        ...(await person("browser", facts.project, who?.roles)),
        browser: { id: visit.id, name: visit.name, address, origin: facts.origin },
        ...(who && { person: { id: who.id, name: who.name } }),
      };
    }
    throw new PlimsollError("forbidden_scope", "A page of another origin may not use this browser's login.");
  }

  async function authenticate(facts: RequestFacts): Promise<Principal | undefined> {
    const known = facts.project === undefined ? byKnownKey(facts.authorization) : undefined;
    if (known) return known;
    if (facts.authorization !== undefined) return byHeader(facts.authorization, facts);
    const session = sessionOf(facts);
    return session === undefined ? undefined : byCookie(session, facts);
  }

  function projectOf({ projectId }: Principal): Project | Promise<Project> {
    return projects.recall(projectId) ?? readProject(projectId);
  }

  async function readProject(id: number): Promise<Project> {
    const project = await orUnreachable(projects.get(id));
    if (!project) throw noProject(String(id));
    return project;
  }

  async function authorize(incoming: IncomingMessage, permission: Permission): Promise<Principal> {
    const known =
      askedProject(incoming) === undefined ? byKnownKey(incoming.headers.authorization) : undefined;
    const principal = requirePermission(known ?? (await authenticate(factsOf(incoming))), permission);
    if (permission.startsWith("send")) requireOpen(await projectOf(principal));
    return principal;
  }

  return {
    authenticate,
    authorize,
    clientOf,
    async authorizeRead(incoming, permission = "read") {
      const principal = await authorize(incoming, permission);
      reads.take(principal.keyId, 1);
      return principal;
    },
  };
}

/** Whether a request may also do something else. */
export const may = ({ roles, projectId, scopes }: Principal, permission: Permission): boolean =>
  roles === undefined ? mayKey(scopes, permission) : mayPerson(roles, projectId, permission);

/** Where a person is who names no project. */
const homeOf = (roles: Roles): number =>
  roleIn(roles, DEFAULT_PROJECT_ID) !== null || roles.projects.size === 0
    ? DEFAULT_PROJECT_ID
    : Math.min(...roles.projects.keys());

/** @throws PlimsollError `unauthenticated`, `forbidden_scope`, `forbidden_role` or `wrong_project`, saying what to do */
export function requirePermission(principal: Principal | undefined, permission: Permission): Principal {
  if (!principal) {
    throw unauthenticated(`Send a key: Authorization: Bearer plim_... ${MAKE_A_KEY}`);
  }
  const { scopes } = PERMISSIONS[permission];
  if (principal.roles !== undefined) return requireRole(principal, principal.projectId, permission);
  if (mayKey(principal.scopes, permission)) return principal;
  if (scopes.length === 0) {
    throw new PlimsollError(
      "wrong_project",
      "A key works only in its own project, and this is for people. Use Setup, or the command line on the server's machine without a key.",
    );
  }
  const held = [...principal.scopes].join(", ") || "none";
  const isWithheld = scopes.some((scope) => principal.withheld?.has(scope));
  const advice = isWithheld
    ? `The role of ${principal.person?.name} in this project allows no more. Ask an administrator.`
    : MAKE_A_KEY;
  throw new PlimsollError(
    "forbidden_scope",
    `This key lacks the scope ${scopes.join(" or ")}; it has ${held}. ${advice}`,
    { details: { required: scopes[0] } },
  );
}

/**
 * For a call that names another project than its own.
 * @throws PlimsollError `forbidden_role`; `not_found` if the person has no role there
 */
export function requireRole(principal: Principal, projectId: number, permission: Permission): Principal {
  const { roles = OWNER, person } = principal;
  if (mayPerson(roles, projectId, permission)) return principal;
  const own = roleIn(roles, projectId);
  if (own === null && roles.projects.size > 0) throw noProject(String(projectId));
  const { role, in: where } = PERMISSIONS[permission];
  const needed = `${role}${where === "everywhere" ? " of every project" : ""}`;
  throw new PlimsollError(
    "forbidden_role",
    own === null
      ? `${person?.name ?? "You"} has no role yet. Ask an administrator for one.`
      : `This needs the role ${needed}, and you are ${own}. Ask an administrator.`,
    { details: { required: role, role: own } },
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
    encrypted: (incoming.socket as Partial<TLSSocket>).encrypted === true,
    project: askedProject(incoming),
    forwarded: wentThroughProxy(headers),
    forwardedFor: headers["x-forwarded-for"] as string | undefined,
    remoteAddress: incoming.socket.remoteAddress,
  };
}

const HEADER = PROJECT_HEADER.toLowerCase();

/** The project that a request names in its header or, where a browser cannot set one, in its query. */
function askedProject({ headers, url }: IncomingMessage): string | undefined {
  const named = headers[HEADER];
  if (typeof named === "string") return decoded(named) || undefined;
  if (url === undefined || !url.includes(`${PROJECT_PARAMETER}=`)) return undefined;
  return new URL(url, "http://localhost").searchParams.get(PROJECT_PARAMETER) || undefined;
}

/** A header holds ASCII alone, so clients send a name URI-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function bearer(authorization: string): string {
  if (/^bearer /i.test(authorization)) return authorization.slice("bearer ".length).trim();
  throw unauthenticated("Authorization must read: Bearer plim_...");
}

function notNobody(key: VerifiedKey | ExpiredKey | undefined): Principal {
  if (!key) throw unknownKey();
  if (key.kind === "expired") throw expiredKey(key);
  return key;
}

function expiredKey({ expiredAt, replaced }: ExpiredKey): PlimsollError {
  const advice = replaced ? "Rotation replaced it: use its successor, or make another." : MAKE_ANOTHER;
  return new PlimsollError("unauthenticated", `This key expired on ${utcDay(expiredAt)}. ${advice}`, {
    details: { reason: EXPIRED, expired_at: new Date(expiredAt).toISOString() },
  });
}

const EXPIRED = "key_expired";
const hasExpired = ({ details }: PlimsollError) =>
  (details as { reason?: unknown } | undefined)?.reason === EXPIRED;

/** For the audit log. */
export function actorOf({ kind, keyId, keyName, browser, person }: Principal): Actor {
  if (kind === "key")
    return { kind, id: keyId ?? "", name: person ? `${keyName} (${person.name})` : (keyName ?? "") };
  if (person) return { kind: "person", ...person, address: browser?.address ?? null };
  return kind === "browser" && browser ? { kind, ...browser } : { kind: "local" };
}

/** A sender must try again when the database is away, and must not when its key is wrong. */
async function orUnreachable<T>(answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw databaseUnavailable(cause);
  }
}

const unknownKey = () => unauthenticated(`This key is unknown or revoked. ${MAKE_A_KEY}`);
const unauthenticated = (message: string) => new PlimsollError("unauthenticated", message);
