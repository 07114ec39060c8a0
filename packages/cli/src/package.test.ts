import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Database } from "node-sqlite3-wasm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Certificate, hasOpenssl, makeCertificate } from "../../guard/src/testing/certificate.ts";
import { type ConnectProxy, startConnectProxy } from "./testing/connect-proxy.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** An empty project with only the package that npm would publish. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-pack-"));
  await run("npm", ["pack", "--pack-destination", folder], { cwd: root });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"))!;
  await writeFile(join(folder, "package.json"), '{"private": true}');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `./${tarball}`], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const bin = (name: string, ...args: string[]) => binWith({}, name, ...args);

const binWith = (env: Record<string, string>, name: string, ...args: string[]) =>
  run(join(folder, "node_modules/.bin", name), args, {
    cwd: folder,
    env: { ...process.env, HOME: folder, PLIMSOLL_URL: "http://127.0.0.1:2", PLIMSOLL_KEY: "", ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

describe("a checkout that is not built", () => {
  it.each(["plimsoll", "phantom"])("%s exits with 1 and names the command that builds it", async (name) => {
    const checkout = await mkdtemp(join(tmpdir(), "plimsoll-checkout-"));
    try {
      await cp(join(root, "bin"), join(checkout, "packages/cli/bin"), { recursive: true });
      await writeFile(join(checkout, "package.json"), '{ "type": "module" }');
      const program = join(checkout, "packages/cli/bin", `${name}.js`);
      const failure = await run(process.execPath, [program, "--help"]).catch((error) => error);
      expect(failure).toMatchObject({ code: 1, stdout: "" });
      expect(failure.stderr).toBe(
        `${name} is not built yet. Run "npm run build" or "npm start" in ${checkout} first.\n`,
      );
    } finally {
      await rm(checkout, { recursive: true, force: true });
    }
  });
});

describe("the packed command line", () => {
  it("installs alone", async () => {
    expect(await readdir(join(folder, "node_modules"))).toEqual(
      expect.arrayContaining([".bin", "@plimsoll"]),
    );
    expect((await readdir(join(folder, "node_modules"))).filter((name) => !name.startsWith("."))).toEqual([
      "@plimsoll",
    ]);
  });

  it("plimsoll --help lists every command", async () => {
    const { code, stdout } = await bin("plimsoll", "--help");
    expect(code).toBe(0);
    for (const command of [
      "status",
      "import",
      "tail",
      "doctor",
      "key",
      "backup",
      "restore",
      "login",
      "Examples:",
    ]) {
      expect(stdout).toContain(command);
    }
  });

  it.each([[[]], [["up"]]])("says that it has no server to start with %j", async (args) => {
    expect(await bin("plimsoll", ...args)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "This package has only the command line.\nInstall the package plimsoll.\n",
    });
  });

  it("brings the manual page", async () => {
    const installed = join(folder, "node_modules/@plimsoll/cli");
    const { man } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    const page = await readFile(join(installed, man), "utf8");
    expect(page).toContain(".TH PLIMSOLL 1");
    expect(page).toContain(".SS plimsoll key rotate");
    expect(page).toBe((await bin("plimsoll", "man")).stdout);
  });

  it("phantom status --help lists its options", async () => {
    const { code, stdout } = await bin("phantom", "status", "--help");
    expect(code).toBe(0);
    for (const option of ["--json", "-p, --port", "-u, --url", "-h, --help"])
      expect(stdout).toContain(option);
  });

  it("imports a recording", async () => {
    const path = join(folder, "rollout.jsonl");
    const info = { last_token_usage: { input_tokens: 5 } };
    const line = (type: string, payload: object) =>
      `${JSON.stringify({ timestamp: "2026-11-20T10:00:00Z", type, payload })}\n`;
    await writeFile(
      path,
      line("session_meta", { id: "t" }) + line("event_msg", { type: "token_count", info }),
    );
    const { code, stdout } = await bin("plimsoll", "import", path, "--dry-run", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ files: { codex: 1 } });
  });

  it("imports a database, for which it brings SQLite", async () => {
    const path = join(folder, "opencode.db");
    const database = new Database(path);
    database.exec(`
      CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, time_created INTEGER);
      CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
      CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
      INSERT INTO message VALUES ('msg_1', 'ses_1', 1795168800000,
        '{"role": "assistant", "modelID": "m", "tokens": {"input": 5}}');`);
    database.close();
    const { code, stdout } = await bin("plimsoll", "import", path, "--dry-run", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ files: { opencode: 1 }, events: 3 });
  });

  it("names a file that yields nothing and exits with 1", async () => {
    const path = join(folder, "notes.jsonl");
    await writeFile(path, '{"hello": "world"}\n');
    const { code, stderr } = await bin("plimsoll", "import", path, "--dry-run");
    expect(code).toBe(1);
    expect(stderr).toContain(`${path}: unknown format`);
  });

  it("prints an error without a stack trace and exits with 1 if the server is unreachable", async () => {
    const { code, stdout, stderr } = await bin("plimsoll", "status");
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^Cannot reach Plimsoll at http:\/\/127\.0\.0\.1:2 \(/);
    expect(stderr).not.toContain("    at ");
  });
});

describe.skipIf(!hasOpenssl)("the packed command line with TLS and a proxy", () => {
  let proxy: ConnectProxy;
  const servers: Server[] = [];
  beforeAll(async () => {
    proxy = await startConnectProxy();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await proxy.close();
  });

  /** Asks a server with this certificate, which the proxy finds under every name. */
  async function ask(certificate: Certificate, env: Record<string, string>) {
    const body = JSON.stringify({ error: { code: "unauthenticated", message: "Who are you?" } });
    const server = createServer(certificate, (_, response) => response.writeHead(401).end(body));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const NODE_EXTRA_CA_CERTS = certificate.certFile;
    const url = { PLIMSOLL_URL: `https://plimsoll.example:${port}` };
    const { stderr } = await binWith(
      { ...url, NODE_EXTRA_CA_CERTS, HTTPS_PROXY: proxy.url, NO_PROXY: "", ...env },
      "plimsoll",
      "status",
    );
    return stderr;
  }

  it("trusts NODE_EXTRA_CA_CERTS and goes through HTTPS_PROXY", async () => {
    const good = makeCertificate(folder, "good", ["DNS:plimsoll.example"]);
    expect(await ask(good, {})).toMatch(/^Not authorized at https:\/\/plimsoll\.example:\d+\./);
    expect(proxy.asked.at(-1)).toMatch(/^plimsoll\.example:\d+$/);
    expect(await ask(good, { NODE_EXTRA_CA_CERTS: "" })).toContain("does not trust the certificate");
  });

  it("says that a certificate is for another name", async () => {
    const other = makeCertificate(folder, "other", ["DNS:other.example"]);
    expect(await ask(other, {})).toContain(
      "the certificate is for another name, ERR_TLS_CERT_ALTNAME_INVALID",
    );
  });
});
