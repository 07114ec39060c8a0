import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Encrypter, generateX25519Identity, identityToRecipient } from "age-encryption";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import type { Ask } from "../prompt.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const NOW = Date.UTC(2026, 10, 23, 4, 5);
const PASSPHRASE = "correct horse battery";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-backup-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface RunOptions {
  env?: Record<string, string>;
  ask?: Ask;
  signal?: AbortSignal;
  /** Gets what is shown on a terminal besides the result. */
  onError?: (text: string) => void;
  now?: () => number;
}

async function run(args: string[], options: RunOptions = {}): Promise<string> {
  const { env = {}, ask, signal, onError, now = () => NOW } = options;
  let text = "";
  const out = {
    width: 120,
    isTty: false,
    color: false,
    write: (more: string) => {
      text += more;
    },
  };
  const program = createProgram({
    env,
    out,
    err: { ...out, isTty: onError !== undefined, write: (more) => onError?.(more) },
    now,
    untilStopped: () => signal ?? new AbortController().signal,
    ...(ask && { ask }),
  });
  await program.parseAsync(["node", "plimsoll", ...args]);
  return text;
}

async function failure(args: string[], options?: RunOptions): Promise<CliError> {
  const error = await run(args, options).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CliError);
  return error as CliError;
}

let serial = 0;
/** A path in a folder of its own, which shows what else a command leaves there. */
async function freshPath(): Promise<{ path: string; files: () => Promise<string[]> }> {
  serial += 1;
  const own = join(folder, String(serial));
  await mkdir(own);
  return { path: join(own, "a.backup"), files: () => readdir(own) };
}

/** As age does with a passphrase, but in milliseconds: the command takes a second for each passphrase that it tries. */
async function lock(content: Uint8Array): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setScryptWorkFactor(8);
  encrypter.setPassphrase(PASSPHRASE);
  return encrypter.encrypt(content);
}

describe("plimsoll backup and restore with real servers", () => {
  let source: Plimsoll;
  let target: Plimsoll;
  let sourceEnv: Record<string, string>;
  let targetEnv: Record<string, string>;
  let whole: string;
  let locked: string;

  beforeAll(async () => {
    // The role of an embedded database is no superuser.
    [source, target] = await Promise.all([
      startPlimsoll({}, { embedded: true }),
      startPlimsoll({}, { embedded: true }),
    ]);
    sourceEnv = { PLIMSOLL_URL: source.url, PLIMSOLL_HOME: source.home };
    targetEnv = { PLIMSOLL_URL: target.url, PLIMSOLL_HOME: target.home };
    const recording = join(folder, "recording.jsonl");
    const line = {
      type: "assistant",
      uuid: "u1",
      sessionId: "a-session",
      isSidechain: false,
      timestamp: new Date().toISOString(),
      message: { id: "m1", model: "claude-opus-5", usage: { input_tokens: 5_000, output_tokens: 3 } },
    };
    await writeFile(recording, `${JSON.stringify(line)}\n`);
    await run(["import", recording], { env: sourceEnv });
    await run(["project", "create", "billing"], { env: sourceEnv });
    whole = (await freshPath()).path;
    expect(await run(["backup", whole], { env: sourceEnv })).toMatch(
      /^Wrote \S+a\.backup: 2 projects, 1 session, \d+ rows, 0\.0 MB, made by Plimsoll 0\.1\.0 at 2026-\S+\.\nIt is not encrypted\. Only your user can read it \(mode 0600\)\.\n$/,
    );
    locked = (await freshPath()).path;
    await writeFile(locked, await lock(await readFile(whole)), { mode: 0o600 });
  });
  afterAll(async () => {
    await Promise.all([source?.stop(), target?.stop()]);
  });

  it("writes a file that only this user can read, whatever the umask is", async () => {
    expect((await lstat(whole)).mode & 0o777).toBe(0o600);
    const { path, files } = await freshPath();
    const before = process.umask(0);
    try {
      await run(["backup", path], { env: sourceEnv });
    } finally {
      process.umask(before);
    }
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    expect(await files()).toEqual(["a.backup"]);
  });

  it("names the file after the time, in the current folder", async () => {
    const { path } = await freshPath();
    const before = process.cwd();
    process.chdir(join(path, ".."));
    try {
      expect(await run(["backup"], { env: sourceEnv })).toContain("Wrote plimsoll-2026-11-23T0405.backup:");
    } finally {
      process.chdir(before);
    }
  });

  it("keeps a file that is there, unless it is told to replace it", async () => {
    const { path, files } = await freshPath();
    await writeFile(path, "precious");
    const error = await failure(["backup", path], { env: sourceEnv });
    expect([error.message, error.hint]).toEqual([
      `${path} already exists.`,
      "Name another file, or replace it with --force.",
    ]);
    expect(await readFile(path, "utf8")).toBe("precious");
    await run(["backup", path, "--force"], { env: sourceEnv });
    expect(await readFile(path, "utf8")).toMatch(/^plimsoll-backup 1\n/);
    expect(await files()).toEqual(["a.backup"]);
    expect((await failure(["backup", join(path, "..")], { env: sourceEnv })).message).toContain(
      "is a folder",
    );
    expect((await failure(["backup", join(path, "..", "no", "x")], { env: sourceEnv })).message).toContain(
      "the folder does not exist",
    );
  });

  it.each(["that exists", "that does not exist yet"])(
    "never writes through a link to a file %s",
    async (which) => {
      const { path, files } = await freshPath();
      const victim = join(folder, `victim-${serial}`);
      if (which === "that exists") await writeFile(victim, "precious");
      await symlink(victim, path);
      expect((await failure(["backup", path], { env: sourceEnv })).message).toContain("already exists");
      await run(["backup", path, "--force"], { env: sourceEnv });
      expect((await lstat(path)).isFile()).toBe(true);
      expect(await readFile(victim, "utf8").catch(() => "none")).toBe(
        which === "that exists" ? "precious" : "none",
      );
      expect(await files()).toEqual(["a.backup"]);
    },
  );

  it.skipIf(!canMount())("says so if the disk is full, and leaves nothing behind", async () => {
    const disk = await mkdtemp(join(tmpdir(), "plimsoll-full-"));
    system("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk);
    try {
      expect(() => {
        for (;;) appendFileSync(join(disk, "filler"), Buffer.alloc(4096));
      }).toThrow("ENOSPC");
      const path = join(disk, "a.backup");
      expect((await failure(["backup", path], { env: sourceEnv })).message).toBe(
        `Cannot write ${path}: the disk is full.`,
      );
      expect(await readdir(disk)).toEqual(["filler"]);
    } finally {
      system("umount", "--lazy", disk);
      await rm(disk, { recursive: true, force: true });
    }
  });

  it("encrypts with a passphrase from a file, the environment or the terminal", async () => {
    const { path } = await freshPath();
    const secret = join(path, "..", "secret");
    await writeFile(secret, `${PASSPHRASE}\nsecond line\n`);
    expect(await run(["backup", path, "--passphrase-file", secret], { env: sourceEnv })).toContain(
      "It is encrypted. Keep the passphrase elsewhere",
    );
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "latin1")).toMatch(/^age-encryption\.org\/v1\n-> scrypt /);
    expect(
      await run(["backup", "--check", path], { env: { PLIMSOLL_BACKUP_PASSPHRASE: PASSPHRASE } }),
    ).toContain("is whole: 2 projects, 1 session");
    const asked: string[] = [];
    const ask: Ask = async (question, options) => {
      asked.push(`${question}${options?.hidden}`);
      return PASSPHRASE;
    };
    await run(["backup", path, "--force", "--encrypt"], { env: sourceEnv, ask });
    await run(["backup", "--check", path], { ask });
    expect(asked).toEqual(["Passphrase: true", "The same again: true", "Passphrase: true"]);
  });

  it("encrypts for public keys, and opens with a private one", async () => {
    const { path } = await freshPath();
    const identities = await Promise.all([
      generateX25519Identity(),
      generateX25519Identity(),
      generateX25519Identity(),
    ]);
    const recipients = await Promise.all(identities.map((identity) => identityToRecipient(identity)));
    const args = ["--recipient", recipients[0]!, "--recipient", recipients[1]!];
    expect(await run(["backup", path, ...args], { env: sourceEnv })).toContain("encrypted for 2 public keys");
    const keys = join(path, "..", "keys.txt");
    await writeFile(keys, `# created: today\n${identities[1]}\n`);
    expect(await run(["backup", "--check", path, "--identity", keys])).toContain("is whole");
    await writeFile(keys, identities[2]!);
    expect((await failure(["backup", "--check", path, "--identity", keys])).message).toContain(
      "None of the private keys opens the backup",
    );
    await writeFile(keys, "no key");
    expect((await failure(["backup", "--check", path, "--identity", keys])).message).toContain(
      "holds no private key",
    );
    expect((await failure(["backup", "--check", path])).hint).toContain("--identity");
  });

  it.each<[string, string[], RunOptions, RegExp]>([
    ["a short passphrase", [], { env: { PLIMSOLL_BACKUP_PASSPHRASE: "short" } }, /at least 8 characters/],
    ["no terminal to ask", ["--encrypt"], {}, /no terminal to ask/],
    ["a bad recipient", ["--recipient", "ssh-rsa AAAA"], {}, /"ssh-rsa AAAA" is no public key of age/],
    [
      "two ways at once",
      ["--recipient", "age1x", "--encrypt"],
      {},
      /either for recipients or with a passphrase/,
    ],
    ["a missing passphrase file", ["--passphrase-file", "/nowhere"], {}, /Cannot read \/nowhere/],
  ])("refuses %s before it writes anything", async (_name, args, options, message) => {
    const { path, files } = await freshPath();
    const error = await failure(["backup", path, ...args], {
      ...options,
      env: { ...sourceEnv, ...options.env },
    });
    expect(error.message).toMatch(message);
    expect(await files()).toEqual([]);
  });

  it("refuses two passphrases that differ", async () => {
    const { path, files } = await freshPath();
    let times = 0;
    const ask: Ask = async () => `${PASSPHRASE}${times++}`;
    expect((await failure(["backup", path, "--encrypt"], { env: sourceEnv, ask })).message).toContain(
      "differ",
    );
    expect(await files()).toEqual([]);
  });

  it("shows how far it is on a terminal", async () => {
    let shown = "";
    const onError = (text: string) => {
      shown += text;
    };
    await run(["backup", "--check", whole], { onError });
    expect(shown.replaceAll("\r", "").split("\u001b[K")).toEqual([
      expect.stringMatching(/^Read 0\.0 MB, \d+ of \d+ tables$/),
      "",
      "",
    ]);
  });

  it("a key cannot make a backup", async () => {
    const key = (await run(["key", "create", "--scope", "admin", "--quiet"], { env: sourceEnv })).trim();
    const { path, files } = await freshPath();
    const error = await failure(["backup", path], { env: { ...sourceEnv, PLIMSOLL_KEY: key } });
    expect(error.message).toContain("this is for people");
    expect(await files()).toEqual([]);
    await run(["key", "revoke", key], { env: sourceEnv });
    expect(
      (await failure(["backup", path], { env: { PLIMSOLL_URL: source.url, PLIMSOLL_HOME: folder } })).hint,
    ).toContain("set a key");
  });

  describe("a file that is not a whole backup", () => {
    it.each<[string, () => Promise<Buffer>, RegExp]>([
      ["is cut short", async () => (await readFile(whole)).subarray(0, -1), /ends too early/],
      ["has a flipped bit", async () => flipped(await readFile(whole), 0.5), /damaged|Its sections/],
      ["is empty", async () => Buffer.alloc(0), /The file is empty/],
      [
        "is another file",
        async () => Buffer.from("\u001f\u008b rather a tar archive"),
        /not a Plimsoll backup/,
      ],
      [
        "is encrypted and cut short",
        async () => (await readFile(locked)).subarray(0, -1),
        /cut short or changed/,
      ],
      [
        "is encrypted and has a flipped bit",
        async () => flipped(await readFile(locked), 0.9),
        /cut short or changed/,
      ],
      [
        "is encrypted and has a flipped bit in its head",
        async () => flipped(await readFile(locked), 0.03),
        /passphrase is wrong|damaged/,
      ],
    ])("%s", async (_name, content, message) => {
      const { path } = await freshPath();
      await writeFile(path, await content());
      const env = { ...targetEnv, PLIMSOLL_BACKUP_PASSPHRASE: PASSPHRASE };
      expect((await failure(["backup", "--check", path], { env })).message).toMatch(message);
      expect((await failure(["restore", path, "--yes"], { env })).message).toMatch(message);
      expect(await run(["project", "list"], { env: targetEnv })).not.toContain("billing");
    });

    it("does not exist, or is a folder", async () => {
      expect((await failure(["backup", "--check", join(folder, "none")])).message).toContain("ENOENT");
      expect((await failure(["restore", folder, "--yes"], { env: targetEnv })).message).toContain("EISDIR");
    });
  });

  it("restores what was backed up after a confirmation, once", async () => {
    const secret = join(folder, "secret");
    await writeFile(secret, "not the passphrase");
    const args = ["restore", locked, "--passphrase-file", secret];
    expect((await failure([...args, "--yes"], { env: targetEnv })).message).toBe(
      `${locked}: The passphrase is wrong.`,
    );
    await writeFile(secret, PASSPHRASE);
    expect((await failure(args, { env: targetEnv })).hint).toBe("Add --yes.");
    expect((await failure(args, { env: targetEnv, ask: async () => "n" })).message).toBe(
      "Nothing was restored.",
    );
    expect(await run(["project", "list"], { env: targetEnv })).not.toContain("billing");

    const questions: string[] = [];
    const ask: Ask = async (question) => {
      questions.push(question);
      return "y";
    };
    expect(await run(args, { env: targetEnv, ask })).toMatch(
      /: 2 projects, 1 session, .*\nRestored 2 projects, 1 session and 1 turn\.\n$/,
    );
    expect(questions).toEqual([`Restore it into ${target.url}, which must be empty? [y/N] `]);
    expect(await run(["project", "list"], { env: targetEnv })).toContain("billing");
    expect(await run(["doctor"], { env: targetEnv, now: Date.now })).toContain("All checks passed.");
    expect((await failure([...args, "--yes"], { env: targetEnv })).message).toContain(
      "only into an empty server",
    );
  });
});

describe("a server that fails on the way", () => {
  let server: Server;
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function start(listener: RequestListener): Promise<Record<string, string>> {
    server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { PLIMSOLL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, PLIMSOLL_KEY: "k" };
  }

  it.each<[string, RequestListener, RegExp]>([
    [
      "ends the connection",
      (_, outgoing) => outgoing.write("plimsoll-backup 1\n", () => outgoing.destroy()),
      /^The server ended the connection on the way\. Nothing was written\.$/,
    ],
    ["ends the answer early", (_, outgoing) => outgoing.end("plimsoll-backup 1\n"), /ends too early/],
    ["answers with a page", (_, outgoing) => outgoing.end("<html>"), /not a Plimsoll backup/],
    [
      "knows no backups",
      (_, outgoing) => outgoing.writeHead(404).end(),
      /answered HTTP 404 to \/api\/v1\/backup/,
    ],
    [
      "is busy",
      (_, outgoing) =>
        outgoing
          .writeHead(409)
          .end('{"error":{"code":"conflict","message":"Another backup is being written."}}'),
      /^Another backup is being written\.$/,
    ],
  ])("%s: the command fails and leaves no file", async (_name, listener, message) => {
    const env = await start(listener);
    const { path, files } = await freshPath();
    expect((await failure(["backup", path], { env })).message).toMatch(message);
    expect(await files()).toEqual([]);
    const recipient = await identityToRecipient(await generateX25519Identity());
    expect((await failure(["backup", path, "--recipient", recipient], { env })).message).toMatch(message);
    expect(await files()).toEqual([]);
  });

  it("stalls: Ctrl+C ends the command and leaves no file", async () => {
    const stop = new AbortController();
    const env = await start((_, outgoing) =>
      outgoing.write("plimsoll-backup 1\n", () => setTimeout(() => stop.abort(), 50)),
    );
    const { path, files } = await freshPath();
    expect((await failure(["backup", path], { env, signal: stop.signal })).message).toBe(
      "Stopped. Nothing was written.",
    );
    expect(await files()).toEqual([]);
  });

  it("cannot be reached", async () => {
    const { path, files } = await freshPath();
    server = createServer();
    const env = { PLIMSOLL_URL: "http://127.0.0.1:2", PLIMSOLL_KEY: "k" };
    expect((await failure(["backup", path], { env })).message).toContain("Cannot reach Plimsoll");
    expect(await files()).toEqual([]);
  });
});

function flipped(bytes: Buffer, place: number): Buffer {
  const altered = Buffer.from(bytes);
  altered[Math.floor(bytes.length * place)]! ^= 2;
  return altered;
}

function system(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: "ignore" });
}

function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    system("unshare", "-m", "true");
    return true;
  } catch {
    return false;
  }
}
