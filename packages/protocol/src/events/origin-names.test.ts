import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { branchName, machineName, repositoryName } from "./origin-names.ts";
import { parseEvent } from "./parse-event.ts";

describe("the name of a repository", () => {
  test.each([
    ["https://github.com/Acme/billing.git"],
    ["https://github.com/Acme/billing"],
    ["https://github.com/Acme/billing/"],
    ["http://GitHub.com:80/Acme/billing.git"],
    ["git@github.com:Acme/billing.git"],
    ["github.com:Acme/billing"],
    ["git@github.com:/Acme/billing.git"],
    ["ssh://git@github.com/Acme/billing.git"],
    ["ssh://git@github.com:22/Acme/billing"],
    ["ssh://git@ssh.github.com:443/Acme/billing.git"],
    ["git+ssh://git@github.com/Acme/billing.git"],
    ["git://github.com/Acme/billing.git"],
    ["https://ann@github.com/Acme/billing.git"],
    ["https://ann:hunter2@github.com/Acme/billing.git"],
    ["https://ann:hunter2%40x@github.com/Acme/billing.git"],
    ["https://ann:hunt@er2@github.com/Acme/billing.git"],
    ["https://ann:hunter2/x@github.com/Acme/billing.git"],
    ["https://ghp_hunter2@github.com/Acme/billing.git"],
    ["https://github.com/Acme/billing.git?access_token=hunter2#hunter2"],
    [" github.com/Acme/billing "],
  ])("%s is the same name in each form", (remote) => {
    expect(repositoryName(remote)).toBe("github.com/Acme/billing");
  });

  test.each([
    ["/home/ann/billing"],
    ["file:///home/ann/billing.git"],
    ["FILE:///home/ann/billing.git"],
    ["../billing"],
    ["~/billing"],
    ["C:\\Users\\ann\\billing"],
    ["c:/Users/ann/billing"],
    ["\\\\server\\ann\\billing"],
    [""],
    [" \u0000 "],
    ["https://"],
    ["x".repeat(5_000)],
  ])("%j has none: a folder may name a person", (remote) => {
    expect(repositoryName(remote)).toBeUndefined();
  });

  test.each([
    ["ssh://git@[::1]:22/a/b.git", "[::1]/a/b"],
    ["git@host:7999/a/b.git", "host/a/b"],
    ["https://host/@scope/a", "host/@scope/a"],
    ["hash-0123456789abcdef", "hash-0123456789abcdef"],
  ])("%s is %s", (remote, name) => {
    expect(repositoryName(remote)).toBe(name);
    expect(repositoryName(name)).toBe(name);
  });

  it("never has a password", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    // As people type them, also without encoding.
    const password = fc.stringMatching(/^[A-Za-z0-9!$%&*+,;=/@:.-]{0,10}$/).map((text) => `S3CRET${text}`);
    fc.assert(
      fc.property(word, password, word, word, fc.boolean(), (user, secret, host, path, isUrl) => {
        const remote = `${isUrl ? "https://" : ""}${user}:${secret}@${host}.example/${path}.git`;
        expect(repositoryName(remote) ?? "").not.toContain("S3CRET");
      }),
    );
  });

  it("is a short line whatever is sent", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600 }), (text) => {
        for (const name of [repositoryName(text), machineName(text), branchName(text)]) {
          if (name === undefined) continue;
          expect(name.length).toBeLessThanOrEqual(256);
          expect(name).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]|^\s|\s$/u);
          expect(name.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});

test.each([
  ["laptop", "laptop"],
  [" lap\u0007top\n", "laptop"],
  ["\u0000", undefined],
  ["m".repeat(10_000), "m".repeat(128)],
  [`${"m".repeat(127)}😀`, "m".repeat(127)],
])("a machine %j is named %j", (text, name) => {
  expect(machineName(text)).toBe(name);
});

test.each([
  ["refs/heads/main", "main"],
  ["feature/x", "feature/x"],
  ["", undefined],
])("a branch %j is named %j", (text, name) => {
  expect(branchName(text)).toBe(name);
});

const turn = {
  id: "1",
  type: "turn",
  at: 1_800_000_000_000,
  harness: "h",
  session: "s",
  model: "m",
  usage: {},
};
const mark = {
  id: "2",
  type: "session",
  at: 1_800_000_000_000,
  harness: "h",
  session: "s",
  status: "started",
};

describe.each([turn, mark])("a $type with an origin", (event) => {
  it("is accepted with clean names, whatever they are", () => {
    const origin = {
      machine: "\u0001".repeat(10_000),
      repository: "https://ann:S3CRET@example.org/a.git",
      branch: "refs/heads/main",
    };
    expect(parseEvent({ ...event, ...origin })).toMatchObject({
      event: { machine: undefined, repository: "example.org/a", branch: "main" },
    });
  });

  it.each(["machine", "repository", "branch"])("is refused if %s is no text", (field) => {
    expect(parseEvent({ ...event, [field]: 7 })).toMatchObject({ rejection: { path: field } });
  });
});
