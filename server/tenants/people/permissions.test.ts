import { ROLES, type Role, SCOPES, type Scope } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mayKey, mayPerson, PERMISSIONS, type Permission, type Roles, roleIn } from "./permissions.ts";

const permission = fc.constantFrom(...(Object.keys(PERMISSIONS) as Permission[]));
const role = fc.constantFrom<(Role | null)[]>(null, ...ROLES);
const roles: fc.Arbitrary<Roles> = fc.record({
  everywhere: role,
  projects: fc
    .array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom(...ROLES)))
    .map((entries) => new Map(entries)),
});
const higher = (a: Role | null, b: Role | null) =>
  (a === null ? -1 : ROLES.indexOf(a)) >= (b === null ? -1 : ROLES.indexOf(b)) ? a : b;

describe("the roles of a person", () => {
  it.each<[everywhere: Role | null, own: Role | null, counts: Role | null]>([
    [null, null, null],
    [null, "viewer", "viewer"],
    ["admin", "viewer", "admin"],
    ["viewer", "editor", "editor"],
  ])("%s everywhere and %s in the project count as %s", (everywhere, own, counts) => {
    const projects = new Map(own === null ? [] : [[7, own]]);
    expect(roleIn({ everywhere, projects }, 7)).toBe(counts);
    expect(roleIn({ everywhere, projects }, 8)).toBe(everywhere);
  });

  it("only ever add to what a person may do", () => {
    fc.assert(
      fc.property(
        roles,
        roles,
        permission,
        fc.integer({ min: 1, max: 4 }),
        (some, others, wanted, project) => {
          const projects = new Map(some.projects);
          for (const [id, one] of others.projects) projects.set(id, higher(projects.get(id) ?? null, one)!);
          const both = { everywhere: higher(some.everywhere, others.everywhere), projects };
          if (mayPerson(some, project, wanted)) expect(mayPerson(both, project, wanted)).toBe(true);
        },
      ),
    );
  });

  it("in one project give nothing in another, and nothing that spans all of them", () => {
    fc.assert(
      fc.property(roles, permission, ({ projects }, wanted) => {
        const only = { everywhere: null, projects };
        if (PERMISSIONS[wanted].role === null) return;
        expect(mayPerson(only, 5, wanted)).toBe(false);
        if (PERMISSIONS[wanted].in === "everywhere") expect(mayPerson(only, 1, wanted)).toBe(false);
      }),
    );
  });
});

describe("the scopes of a key", () => {
  it("give what the table says, and nothing that is for people", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom<Scope[]>(...SCOPES)), permission, (given, wanted) => {
        const { scopes } = PERMISSIONS[wanted];
        const enough = (scopes as readonly Scope[]).some((scope) => given.includes(scope));
        expect(mayKey(new Set(given), wanted)).toBe(scopes.length > 0 && (enough || given.includes("admin")));
      }),
    );
  });
});
