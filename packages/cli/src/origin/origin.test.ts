import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gitPlace } from "./git-place.ts";
import { machineOf } from "./machine.ts";
import { repositoryMode, repositoryNamer } from "./repository.ts";

let folder: string;
let repository: string;

const git = (cwd: string, ...words: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...words], { cwd, stdio: "pipe" });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "plimsoll-origin-"));
  repository = join(folder, "work");
  mkdirSync(join(repository, "src", "deep"), { recursive: true });
  git(repository, "init", "--initial-branch", "next");
  git(repository, "remote", "add", "upstream", "https://example.org/other/billing.git");
  git(repository, "remote", "add", "origin", "https://ann:S3CRET@example.org/acme/billing.git");
  git(repository, "commit", "--allow-empty", "-m", "first");
  git(repository, "worktree", "add", "-b", "feature/x", join(folder, "tree"));
  mkdirSync(join(folder, "plain"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = (more: object = {}) => ({ PLIMSOLL_HOME: join(folder, "home"), ...more });

describe("the place that git knows", () => {
  it("is that of a folder in a repository", () => {
    const place = { remote: "https://ann:S3CRET@example.org/acme/billing.git", branch: "next" };
    expect(gitPlace(repository)).toEqual(place);
    expect(gitPlace(join(repository, "src", "deep"))).toEqual(place);
  });

  it("of a worktree is its own branch and the remote of its repository", () => {
    expect(gitPlace(join(folder, "tree"))).toMatchObject({ branch: "feature/x" });
    expect(gitPlace(join(folder, "tree"))?.remote).toContain("acme/billing");
  });

  it("has no branch while none is checked out, and no remote where there is none", () => {
    const bare = join(folder, "bare");
    mkdirSync(bare);
    git(bare, "init", "--initial-branch", "main");
    git(bare, "commit", "--allow-empty", "-m", "first");
    git(bare, "checkout", "--detach");
    expect(gitPlace(bare)).toEqual({ remote: undefined, branch: undefined });
  });

  it("is none elsewhere, and no error for what is no repository of git", () => {
    writeFileSync(join(folder, "plain", ".git"), "gitdir: nowhere\n");
    expect(gitPlace(join(folder, "plain"))).toBeUndefined();
    expect(gitPlace("/")).toBeUndefined();
    expect(gitPlace(join(folder, "gone", "for", "good"))).toBeUndefined();
  });
});

describe("the name of a repository in events", () => {
  it("is sent only if a setting asks for it", () => {
    expect(repositoryMode({})).toBeUndefined();
    expect(repositoryNamer("off", env())).toBeUndefined();
    expect(() => repositoryMode({ PLIMSOLL_REPOSITORY: "yes" })).toThrow(
      /PLIMSOLL_REPOSITORY=yes is not a mode. Use one of: off, plain, hashed/,
    );
  });

  it("is plain without credentials, and never has a folder", () => {
    const plain = repositoryNamer("plain", env())!;
    expect(plain({ folder: repository })).toEqual({ repository: "example.org/acme/billing", branch: "next" });
    expect(plain({ folder: repository, branch: "old" })).toMatchObject({ branch: "old" });
    expect(plain({ folder: join(folder, "plain"), branch: "main" })).toEqual({});
    expect(plain({ remote: "/home/ann/billing.git", branch: "main" })).toEqual({});
    expect(plain({})).toEqual({});
  });

  it("is hashed with a key of this machine, which nobody else may read", () => {
    const hashed = repositoryNamer("hashed", env())!;
    const named = hashed({ folder: repository });
    expect(named.repository).toMatch(/^hash-[0-9a-f]{16}$/);
    expect(named.branch).toMatch(/^hash-[0-9a-f]{16}$/);
    expect(named.branch).not.toBe(named.repository);
    const path = join(folder, "home", "repository-key");
    expect(readFileSync(path)).toHaveLength(32);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    // Another process has the same key; another form of the remote has the same name.
    expect(
      repositoryNamer("hashed", env())!({ remote: "git@example.org:acme/billing.git", branch: "next" }),
    ).toEqual(named);
    const elsewhere = { PLIMSOLL_HOME: join(folder, "other-home") };
    expect(repositoryNamer("hashed", elsewhere)!({ folder: repository })).not.toEqual(named);
  });

  it("is the same hash on machines with the same key", () => {
    const on = (home: string) =>
      repositoryNamer("hashed", { PLIMSOLL_HOME: join(folder, home), PLIMSOLL_REPOSITORY_KEY: "shared" })!({
        folder: repository,
      });
    expect(on("one")).toEqual(on("two"));
  });
});

it("a machine is named by its setting, else by its host", () => {
  expect(machineOf({ PLIMSOLL_MACHINE: " laptop " })).toBe("laptop");
  expect(machineOf({ PLIMSOLL_MACHINE: " " })).toBe(hostname());
  expect(machineOf({})).toBe(hostname());
});
