import { execFile, execFileSync } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Plimsoll, startPlimsoll } from "../packages/cli/src/testing/real-server.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
const PROGRAM = join(root, "packages/cli/bin/plimsoll.js");

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-deploy-"));
  await run("npm", ["run", "--silent", "build"], { cwd: join(root, "packages/cli") });
  await mkdir(join(folder, "bin"));
  // Stands for npx, which would download this release: it runs the built program.
  const npx = `#!/bin/sh\n[ "$1 $2" = "--yes plimsoll@${version}" ] || exit 64\nshift 2\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`;
  await writeFile(join(folder, "bin/npx"), npx);
  await chmod(join(folder, "bin/npx"), 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface ScriptResult {
  code: number;
  stdout: string;
  stderr: string;
}
const script = (path: string, env: Record<string, string>): Promise<ScriptResult> =>
  run(path, [], {
    cwd: folder,
    env: {
      NODE_ENV: "test",
      PATH: [join(folder, "bin"), process.env.PATH].join(delimiter),
      HOME: folder,
      ...env,
    },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: ScriptResult) => error,
  );

describe("the GitHub Action", () => {
  let server: Plimsoll;
  let key = "";
  beforeAll(async () => {
    server = await startPlimsoll();
    const words = ["key", "create", "--scope", "ingest,read", "--quiet", "--url", server.url];
    const env = { ...process.env, PLIMSOLL_HOME: server.home };
    key = (await run(process.execPath, [PROGRAM, ...words], { env })).stdout.trim();
  });
  afterAll(() => server.stop());

  /** Runs the step as GitHub does: with the inputs as variables. */
  async function step(inputs: Record<string, string>): Promise<ScriptResult> {
    const action = parse(await readFile(join(root, "action.yml"), "utf8"));
    const [only] = action.runs.steps;
    const inputOf = (name: string) => inputs[name] ?? action.inputs[name].default ?? "";
    const env = Object.entries<string>(only.env).map(([name, text]) => [
      name,
      text.replace(/\$\{\{ inputs\.(\w+) \}\}/, (_, input: string) => inputOf(input)),
    ]);
    const path = only.run.replace("$GITHUB_ACTION_PATH", root).replaceAll('"', "");
    return script(path, Object.fromEntries(env));
  }

  const line = (type: string, payload: object) =>
    `${JSON.stringify({ timestamp: "2026-11-20T10:00:00Z", type, payload })}\n`;
  const recording =
    line("session_meta", { id: "job-1" }) +
    line("event_msg", { type: "token_count", info: { last_token_usage: { input_tokens: 5 } } });

  it("imports what a job recorded, also below a path with spaces, and skips a path without recordings", async () => {
    const path = join(folder, "a job; $(touch evil)");
    await mkdir(path);
    await writeFile(join(path, "rollout.jsonl"), recording);
    const paths = `~/nothing\n${path}\n`;
    const done = await step({ url: server.url, key, paths, harness: "codex@ci" });
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(done.stdout).toContain(`No recordings in ${join(folder, "nothing")}`);
    const headers = { authorization: `Bearer ${key}` };
    const stored = await fetch(
      `${server.url}/api/v1/sessions?from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z`,
      { headers },
    );
    expect(await stored.text()).toContain("codex@ci");
  });

  it("succeeds without recordings, and fails with a wrong key", async () => {
    expect(await step({ url: server.url, key })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("No recordings"),
    });
    const path = join(folder, "rollout.jsonl");
    await writeFile(path, recording);
    const refused = await step({ url: server.url, key: "plim_wrong", paths: path });
    expect(refused.code).toBe(1);
    expect(refused.stderr).not.toContain("plim_wrong");
  });
});

describe("the dev container feature", () => {
  const install = join(root, "deploy/devcontainer/install.sh");

  /** A root file system with a shell and three programs: no Node, no user, nothing to download with. */
  async function bareRoot(): Promise<string> {
    const bare = await mkdtemp(join(folder, "root-"));
    const programs = ["sh", "cat", "chmod", "mkdir"].map((name) =>
      execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(),
    );
    const libraries = programs.flatMap((path) =>
      [...execFileSync("ldd", [path], { encoding: "utf8" }).matchAll(/(\/\S+)/g)].map(([, file]) => file!),
    );
    for (const path of new Set([...programs, ...libraries])) {
      await mkdir(join(bare, dirname(path)), { recursive: true });
      await cp(path, join(bare, path), { dereference: true });
    }
    await mkdir(join(bare, "bin"), { recursive: true });
    await cp(programs[0]!, join(bare, "bin/sh"), { dereference: true });
    await cp(install, join(bare, "install.sh"));
    return bare;
  }

  const canChroot = process.getuid?.() === 0 && process.platform === "linux";
  it.skipIf(!canChroot)(
    "installs and starts in a bare root file system, if this is Linux and root",
    async () => {
      const bare = await bareRoot();
      const inside = (env: Record<string, string>, ...command: string[]) =>
        run("/usr/sbin/chroot", [bare, ...command], {
          env: { NODE_ENV: "test", PATH: "/usr/local/bin:/usr/bin:/bin", ...env },
        });
      await inside({ URL: "http://host.docker.internal:4180" }, "/bin/sh", "/install.sh");
      const start = "/usr/local/bin/plimsoll-connect";
      expect((await inside({}, start)).stdout).toContain("set PLIMSOLL_INGEST_KEY");
      expect((await inside({ PLIMSOLL_INGEST_KEY: "plim_x" }, start)).stdout).toContain("needs Node");
      for (const url of ["", "ftp://x", "http://x/$(touch /evil)", 'http://x"; touch /evil; "']) {
        await expect(inside({ URL: url }, "/bin/sh", "/install.sh"), url).rejects.toThrow("The option url");
      }
    },
  );

  it("runs the release, and its default address is that of the script's option", async () => {
    const feature = JSON.parse(
      await readFile(join(root, "deploy/devcontainer/devcontainer-feature.json"), "utf8"),
    );
    expect(feature).toMatchObject({ version, postStartCommand: "plimsoll-connect" });
    for (const path of [install, join(root, "deploy/import-recordings.sh")])
      expect(await readFile(path, "utf8")).toContain(`plimsoll@${version}`);
  });
});
