import { AUDIT_ACTIONS } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { actionText, actorText, projectText } from "./activity-text.ts";

describe("the text of an entry", () => {
  it("says what happened, how often, for every action and for one that is unknown", () => {
    for (const action of AUDIT_ACTIONS) expect(actionText({ action, count: 1 })).toMatch(/^[A-Z][a-z ]+$/);
    expect(actionText({ action: "key_created", count: 1 })).toBe("Key created");
    expect(actionText({ action: "login_failed", count: 1_234 })).toBe("Login failed 1,234 times");
    expect(actionText({ action: "policy_changed", count: 1 })).toBe("policy changed");
    expect(actionText({ action: "constructor", count: 1 })).toBe("constructor");
  });

  it.each([
    ["Firefox on Linux, ::1", { kind: "browser", name: "Firefox on Linux", address: "::1" }],
    ["Unknown browser", { kind: "browser" }],
    ["Key ops", { kind: "key", name: "ops" }],
    ["Command line", { kind: "local" }],
    ["Server", { kind: "server" }],
    ["10.0.0.1", { kind: "visitor", address: "10.0.0.1" }],
    ["Other clients", { kind: "visitor" }],
    ["robot", { kind: "robot" }],
  ])("says who: %s", (text, actor) => {
    expect(actorText({ id: null, name: null, address: null, ...actor })).toBe(text);
  });

  it("names the project if there are several or it is gone", () => {
    expect(projectText({ action: "key_created", project_id: 1, project: "default" }, false)).toBeNull();
    expect(projectText({ action: "key_created", project_id: 1, project: "default" }, true)).toBe("default");
    expect(projectText({ action: "key_created", project_id: 3, project: null }, false)).toBe(
      "project 3, deleted",
    );
    expect(projectText({ action: "key_created", project_id: null, project: null }, true)).toBeNull();
    expect(projectText({ action: "project_renamed", project_id: 1, project: "a" }, true)).toBeNull();
  });
});
