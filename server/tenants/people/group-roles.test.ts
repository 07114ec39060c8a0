import { ROLES } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasRole, isInGroup, rolesOf } from "./group-roles.ts";

const none = { everywhere: null, projects: {} };

describe("rolesOf", () => {
  it.each([
    ["'admin'", {}, { everywhere: "admin", projects: {} }],
    [
      "contains(groups, 'ops') && 'admin' || 'viewer'",
      { groups: ["ops"] },
      { everywhere: "admin", projects: {} },
    ],
    ["contains(groups, 'ops') && 'admin' || 'viewer'", {}, { everywhere: "viewer", projects: {} }],
    ["contains(groups, 'ops') && 'admin'", { groups: ["dev"] }, none],
    ["null_claim", {}, none],
    ["roles", { roles: ["editor", "viewer", "uma_authorization"] }, { everywhere: "editor", projects: {} }],
    ["roles", { roles: ["offline_access"] }, none],
    [
      "{Fleet: contains(groups, 'a') && 'editor', Lab: contains(groups, 'b') && 'admin'}",
      { groups: ["a"] },
      { everywhere: null, projects: { Fleet: "editor" } },
    ],
    [
      "resource_access.plimsoll.roles",
      { resource_access: { plimsoll: { roles: ["member"] } } },
      { everywhere: "member", projects: {} },
    ],
  ])("%s of %o", (expression, claims, roles) => {
    expect(rolesOf(expression, claims)).toEqual({ roles });
  });

  it.each([
    ["'owner'", {}, "string"],
    ["`3`", {}, "number"],
    ["contains(teams, 'ops') && 'admin'", {}, "contains"],
    ["{Fleet: 'owner'}", {}, "project"],
  ])("gives no role and says why: %s", (expression, claims, fault) => {
    const found = rolesOf(expression, claims);
    expect(found.roles).toEqual(none);
    expect(found.fault).toContain(fault);
  });

  it("never gives more than a role by name, whatever the claims are", () => {
    fc.assert(
      fc.property(fc.object(), fc.constantFrom("@", "groups", "*", "a", "keys(@)"), (claims, expression) => {
        const { everywhere, projects } = rolesOf(expression, claims).roles;
        expect([null, ...ROLES]).toContain(everywhere);
        for (const role of Object.values(projects)) expect(ROLES).toContain(role);
      }),
    );
  });
});

it("hasRole counts a role in one project", () => {
  expect(
    [none, { ...none, everywhere: "viewer" as const }, { ...none, projects: { a: "viewer" as const } }].map(
      hasRole,
    ),
  ).toEqual([false, true, true]);
});

it.each([
  [["ops"], true],
  ["ops", true],
  [["OPS", 1, null, ["ops"]], false],
  [undefined, false],
])("isInGroup of %o is %s", (groups, expected) => {
  expect(isInGroup({ groups }, ["ops"])).toBe(expected);
});
