import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../guard/src/testing/until.ts";
import { FIXTURES, hasFixtures } from "../../harnesses/src/testing/fold.ts";
import { CliError } from "./errors.ts";
import { createProgram } from "./program.ts";
import { type Plimsoll, startPlimsoll } from "./testing/real-server.ts";

/** Runs the commands against a real server. */
describe("plimsoll with a real server", () => {
  let server: Plimsoll;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plimsoll-cli-"));
    server = await startPlimsoll();
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
    process.exitCode = undefined;
  });

  async function run(args: string[], env: Record<string, string> = {}, stop = new AbortController()) {
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
      env: { PLIMSOLL_URL: server.url, PLIMSOLL_HOME: server.home, ...env },
      out,
      err: { ...out, write: () => undefined },
      now: Date.now,
      untilStopped: () => stop.signal,
    });
    await program.parseAsync(["node", "plimsoll", ...args]);
    return text;
  }
  const status = async () => JSON.parse(await run(["status", "--json"]));

  const said = (id: string, at: number, input: number, session: string) =>
    `${JSON.stringify({
      type: "assistant",
      uuid: id,
      sessionId: session,
      isSidechain: false,
      timestamp: new Date(at).toISOString(),
      message: { id, model: "claude-opus-5", usage: { input_tokens: input, output_tokens: 3 } },
    })}\n`;

  it("project commands manage projects, and a key refuses another project", async () => {
    expect(await run(["project", "create", "billing"])).toContain("Created billing");
    const key = await run(["key", "create", "--project", "billing", "--scope", "admin", "--quiet"]);
    const env = { PLIMSOLL_KEY: key.trim() };
    expect(await run(["key", "list"])).toContain("There are no keys");
    expect(await run(["key", "list"], env)).toContain("admin");
    expect(await run(["project", "list"], env)).toMatch(/billing/);
    expect(await run(["project", "list"], env)).not.toMatch(/default/);
    const wrong = await run(["status", "--project", "default"], env).catch((error: unknown) => error);
    expect(wrong).toBeInstanceOf(CliError);
    expect(wrong).toMatchObject({ hint: undefined, message: expect.stringContaining("billing") });
    await run(["project", "archive", "billing"]);
    expect(await run(["project", "list"])).toMatch(/billing +archived/);
    await run(["project", "delete", "billing", "--confirm", "billing"]);
    expect(await run(["project", "list"])).not.toMatch(/billing/);
  });

  it("status suggests an import while there are no events", async () => {
    expect(await run(["status"])).toContain("plimsoll import");
  });

  it("a repeated import changes nothing, and imported sessions are not live", async () => {
    await mkdir(join(folder, "old"));
    // A single turn is the shortest possible history.
    await writeFile(join(folder, "old", "a.jsonl"), said("m1", Date.now() - 60_000, 5_000, "one-turn"));
    const path = join(folder, "old");
    const first = JSON.parse(await run(["import", path, "--json"]));
    expect(first.sent).toMatchObject({ accepted: 3, duplicates: 0, rejected: [] });
    const second = JSON.parse(await run(["import", path, "--json"]));
    expect(second.sent).toMatchObject({ accepted: 0, duplicates: 3 });
    const { fleet, status: figures } = await status();
    expect(fleet.agents).toEqual([]);
    expect(figures.totals).toMatchObject({ sessions: 1, turns: 1, peak_tokens: 5_000 });
  });

  it("status shows a session that tail follows", async () => {
    await mkdir(join(folder, "new"));
    await writeFile(join(folder, "new", "b.jsonl"), said("m1", Date.now(), 150_000, "running"));
    const stop = new AbortController();
    const following = run(["tail", join(folder, "new")], {}, stop);
    const live = async () => (await status()).fleet.agents as { session: string; context_tokens: number }[];
    await until(async () => (await live()).length > 0);
    stop.abort();
    await following;
    expect(await live()).toMatchObject([{ session: "running", context_tokens: 150_000 }]);
    expect(await run(["status"])).toMatch(/running .* 150,000 /);
  });

  it.skipIf(!hasFixtures)("the server accepts every event of the real recordings", async () => {
    const { sent, events } = JSON.parse(await run(["import", FIXTURES, "--json"]));
    expect(sent).toMatchObject({ accepted: events, rejected: [] });
  });

  it("creates, lists, uses and revokes a key", async () => {
    const secret = (await run(["key", "create", "--name", "reader", "--scope", "read", "--quiet"])).trim();
    const env = { PLIMSOLL_KEY: secret };
    expect(await run(["key", "list"])).toContain("reader");
    expect(await run(["status"], env)).toContain("Last 24 h");
    const error = await run(["key", "list"], env).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CliError);
    expect((error as CliError).message).toContain("Not allowed to call keys.list");
    const rotated = await run(["key", "rotate", secret, "--grace", "1h"]);
    expect(rotated).toMatch(/^plim_\w+[\s\S]*The old key plim_\w+ works until 20/);
    expect(await run(["key", "list"])).toMatch(/replaced by plim_/);
    expect(await run(["audit", "--action", "key_rotated"])).toMatch(
      /key_rotated +reader +command line +default/,
    );
    expect(await run(["key", "revoke", secret])).toContain("Revoked reader");
    await expect(run(["status"], env)).rejects.toThrow(/Not authorized/);
  });

  it("doctor passes, and login prints a link", async () => {
    // A busy machine examines not all at once.
    expect(await run(["doctor", "--full"])).toContain("All checks passed.");
    expect(await run(["login"])).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login#\S+\n$/);
  });

  it("status fails without a key", async () => {
    const nowhere = { PLIMSOLL_HOME: join(folder, "nowhere") };
    await expect(run(["status"], nowhere)).rejects.toThrow(`Not authorized at ${server.url}.`);
  });
});
