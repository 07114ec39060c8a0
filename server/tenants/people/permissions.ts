import { ROLE_OF_SCOPE, ROLES, type Role, type Scope } from "@plimsoll/protocol/api";

interface Needs {
  /** The least role of a person in the project, or in every project. Null: none. */
  role: Role | null;
  in: "project" | "everywhere";
  /** Any of these lets a key do it. Empty: only people may. A key with `admin` may do all that keys may. */
  scopes: readonly Scope[];
}

const needs = (role: Role | null, ...scopes: Scope[]): Needs => ({ role, in: "project", scopes });
const onlyPeople = (role: Role | null, where: Needs["in"]): Needs => ({ role, in: where, scopes: [] });

/** Everything that a request may be allowed to do. Every route and procedure names one of these. */
export const PERMISSIONS = {
  send: needs("admin", "ingest"),
  "send or acknowledge": needs("admin", "ingest", "policy:ack"),
  "see receipts": needs("viewer", "ingest"),
  read: needs("viewer", "read"),
  "ask about oneself": needs("viewer", "self"),
  "read policies": needs("viewer", "policy:read", "read"),
  "know oneself": onlyPeople(null, "project"),
  "use an account": onlyPeople("viewer", "project"),
  annotate: needs("member", "sessions:write"),
  silence: needs("member", "alerts:write"),
  "connect machines": onlyPeople("member", "project"),
  /** Without `administer`, a person's own alone. */
  "use keys": needs("member", "admin"),
  "change policies": needs("editor", "policy:write"),
  "change alerts": needs("editor", "alerts:write"),
  "change mappings": needs("editor", "admin"),
  delete: needs("editor", "admin"),
  "see projects": needs(null, "admin"),
  administer: needs("admin", "admin"),
  "create projects": onlyPeople("admin", "everywhere"),
  "manage people": onlyPeople("admin", "everywhere"),
  "back up": onlyPeople("admin", "everywhere"),
} as const satisfies Record<string, Needs>;
export type Permission = keyof typeof PERMISSIONS;

/** What a person may do, and where. */
export interface Roles {
  everywhere: Role | null;
  /** By the id of a project. */
  projects: ReadonlyMap<number, Role>;
}

/** With a login link, the access token, or the command line on the server's machine. */
export const OWNER: Roles = { everywhere: "admin", projects: new Map() };

const rank = (role: Role | null | undefined) => (role == null ? -1 : ROLES.indexOf(role));

/** The higher of the role in the project and the role everywhere. */
export function roleIn({ everywhere, projects }: Roles, projectId: number): Role | null {
  const own = projects.get(projectId) ?? null;
  return rank(own) > rank(everywhere) ? own : everywhere;
}

/** Whether a person may do something in a project. */
export function mayPerson(roles: Roles, projectId: number, permission: Permission): boolean {
  const { role, in: where } = PERMISSIONS[permission];
  return rank(where === "everywhere" ? roles.everywhere : roleIn(roles, projectId)) >= rank(role);
}

/** Whether the key of a person may have a scope in a project. */
export const mayGive = (roles: Roles, projectId: number, scope: Scope): boolean =>
  rank(roleIn(roles, projectId)) >= rank(ROLE_OF_SCOPE[scope]);

/** Whether a key may do something in its project. */
export function mayKey(scopes: ReadonlySet<Scope>, permission: Permission): boolean {
  const enough: readonly Scope[] = PERMISSIONS[permission].scopes;
  return enough.length > 0 && (scopes.has("admin") || enough.some((scope) => scopes.has(scope)));
}
