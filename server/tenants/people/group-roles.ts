import { type JSONValue, search } from "@jmespath-community/jmespath";
import { ROLES, type Role } from "@plimsoll/protocol/api";

export interface NamedRoles {
  /** In every project; null if only those in `projects` count. */
  everywhere: Role | null;
  /** By the name of a project. */
  projects: Record<string, Role>;
}

/** What an identity provider says about a person. */
export type Claims = Record<string, unknown>;

const isRole = (value: unknown): value is Role => ROLES.includes(value as Role);
export const NO_ROLES: NamedRoles = { everywhere: null, projects: {} };

/**
 * The roles that an expression gives to a person. Whatever is no role gives none.
 * @param expression JMESPath over the claims; a missing claim `groups` counts as an empty list
 * @returns `fault` says why an answer of the expression was left out, and never repeats a claim
 * @example
 * rolesOf("contains(groups, 'ops') && 'admin' || { Fleet: 'viewer' }", { groups: ["ops"] })
 * // { roles: { everywhere: "admin", projects: {} } }
 */
export function rolesOf(expression: string, claims: Claims): { roles: NamedRoles; fault?: string } {
  let result: unknown;
  try {
    result = search({ groups: [], ...claims } as unknown as JSONValue, expression);
  } catch (error) {
    return { roles: NO_ROLES, fault: (error as Error).message };
  }
  // An expression such as contains(groups, 'ops') && 'admin' is false for everybody else.
  if (!result) return { roles: NO_ROLES };
  if (isRole(result)) return { roles: { everywhere: result, projects: {} } };
  if (Array.isArray(result)) return { roles: { everywhere: highest(result), projects: {} } };
  if (typeof result !== "object")
    return {
      roles: NO_ROLES,
      fault: `It gives a ${typeof result} that is no role: use ${ROLES.join(", ")}.`,
    };
  const given = Object.entries(result).filter(([, role]) => role);
  const projects = given.filter((entry): entry is [string, Role] => isRole(entry[1]));
  return {
    roles: { everywhere: null, projects: Object.fromEntries(projects) },
    ...(projects.length < given.length && {
      fault: `It gives a project something that is no role: use ${ROLES.join(", ")}.`,
    }),
  };
}

const highest = (names: unknown[]): Role | null => ROLES.findLast((role) => names.includes(role)) ?? null;

/** Whether roles let a person do anything. */
export const hasRole = ({ everywhere, projects }: NamedRoles) =>
  everywhere !== null || Object.keys(projects).length > 0;

/** Whether the claim `groups`, a list or a single name, has one of the allowed groups. */
export const isInGroup = ({ groups }: Claims, allowed: readonly string[]) =>
  [groups].flat().some((group) => typeof group === "string" && allowed.includes(group));
