import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

describe("plimsoll alerts with a real server", () => {
  let server: Plimsoll;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plimsoll-alerts-"));
    server = await startPlimsoll({ PLIMSOLL_WEBHOOK_ALLOW: "loopback" });
  });
  afterEach(() => {
    process.exitCode = undefined;
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function plimsoll(...args: string[]): Promise<string> {
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
      env: { PLIMSOLL_URL: server.url, PLIMSOLL_HOME: server.home },
      out,
      err: { ...out, write: () => undefined },
      now: Date.now,
      untilStopped: () => new AbortController().signal,
    });
    await program.parseAsync(["node", "plimsoll", "alerts", ...args]);
    return text;
  }

  const failure = async (...args: string[]): Promise<CliError> => {
    const error = await plimsoll(...args).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CliError);
    return error as CliError;
  };

  it("says how to begin, and exits with 0 while nothing fires", async () => {
    expect(await plimsoll()).toBe("No alert fires.\n");
    expect(process.exitCode).toBeUndefined();
    expect(await plimsoll("rules")).toContain("plimsoll alerts rules preset past_line");
    expect(await plimsoll("silence")).toContain("plimsoll alerts silence harness=NAME");
  });

  it("gives an option to the command whose name it follows", async () => {
    expect(JSON.parse(await plimsoll("rules", "--json"))).toEqual({ rules: [] });
    const wrongKey = await failure("rules", "--key", "plim_unknown");
    expect(wrongKey.message).toContain("key");
  });

  it("creates presets, and exports and imports rules", async () => {
    expect(await plimsoll("rules", "preset", "past_line")).toBe('Created the rule "Stays past its line".\n');
    expect((await failure("rules", "preset", "unheard_of")).hint).toContain("silent_harness");
    const yaml = await plimsoll("rules", "export");
    expect(yaml).toBe(
      "rules:\n  - name: Stays past its line\n    condition:\n      type: past_line\n      turns: 3\n" +
        "    keep_firing_for: 1m\n    severity: critical\n",
    );
    const file = join(folder, "alerts.yaml");
    await writeFile(
      file,
      `${yaml}  - name: Full\n    condition: { type: load, at_least: 0.9 }\n    enabled: false\n`,
    );
    expect(await plimsoll("rules", "import", file)).toBe("Created 1, changed 0, deleted 0, unchanged 1.\n");
    expect(await plimsoll("rules")).toMatch(/Full +load +warning +off/);
    await writeFile(file, "rules:\n  - name: Full\n    condition: { type: load, at_least: 90 }\n");
    expect((await failure("rules", "import", file)).message).toContain(
      "rules.0.condition.at_least: write a fraction: 0.9 means 90 %",
    );
    await writeFile(file, yaml);
    expect(await plimsoll("rules", "import", file, "--replace")).toBe(
      "Created 0, changed 0, deleted 1, unchanged 1.\n",
    );
    expect(await plimsoll("rules", "off", "Stays past its line")).toContain("switched off");
    expect(await plimsoll("rules", "delete", "Stays past its line")).toContain("deleted");
    expect((await failure("rules", "on", "Stays past its line")).message).toContain("There is no rule");
  });

  it("silences alerts for a while, and ends a silence", async () => {
    expect((await failure("silence", "harness=phantom@*")).hint).toContain("-m");
    expect((await failure("silence", "phantom", "-m", "why not")).hint).toContain("label=value");
    const made = await plimsoll(
      "silence",
      "harness=phantom@*",
      "severity!=critical",
      "--for",
      "2h",
      "-m",
      "a test",
    );
    expect(made).toMatch(/^Silenced until /);
    expect(await plimsoll("silence")).toMatch(/active +in .*harness=phantom@\* severity!=critical +a test/);
    const id = /--end (\S+)/.exec(made)![1]!;
    expect(await plimsoll("silence", "--end", id)).toBe("The silence has ended.\n");
    expect((await failure("silence", "--end", id)).message).toContain("There is no silence");
  });

  it("acknowledges what fires, and exits with 2", async () => {
    const file = join(folder, "backlog.yaml");
    await writeFile(
      file,
      "rules:\n  - { name: Anything, condition: { type: fleet, load_at_least: 0.001, share: 0.1 } }\n",
    );
    await plimsoll("rules", "import", file);
    const token = (await readFile(join(server.home, "local-token"), "utf8")).trim();
    const turn = {
      id: "1",
      type: "turn",
      at: Date.now(),
      harness: "phantom@one",
      session: "s",
      model: "m",
      context_window: 10_000,
      usage: { input_tokens: 1_000 },
    };
    const sent = await fetch(`${server.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify([turn]),
    });
    expect(sent.status).toBe(200);
    await expect.poll(() => plimsoll()).toContain("1 of 1 live agent");
    expect(process.exitCode).toBe(2);
    const rule = join(folder, "rule.yaml");
    await writeFile(rule, "name: Any\ncondition: { type: tokens, at_least: 1 }\n");
    expect(await plimsoll("rules", "backtest", rule, "--days", "1")).toMatch(
      /^Would have fired 1 time in 1 day, longest \d+ min \(1 agent, 1 turn\)\.\n/,
    );
    expect((await failure("rules", "backtest", "Anything")).message).toContain("cannot be tested");
    expect((await failure("rules", "backtest", "missing.yaml")).message).toContain("no rule and no file");
    const { items } = JSON.parse(await plimsoll("--json")) as { items: { id: string }[] };
    expect(await plimsoll("ack", items[0]!.id)).toBe("Acknowledged 1 alert.\n");
    expect(await plimsoll()).toContain("acknowledged by command line");
    expect((await failure("ack", "nothing")).message).toContain("There is no alert");
  });

  it("creates an endpoint, tests it, and never shows its secret again", async () => {
    const file = join(folder, "target.json");
    await writeFile(file, JSON.stringify({ kind: "webhook", url: "http://10.1.2.3/hook" }));
    expect((await failure("endpoints", "create", "ops", file)).message).toContain("PLIMSOLL_WEBHOOK_ALLOW");
    await writeFile(
      file,
      JSON.stringify({ kind: "webhook", url: "http://127.0.0.1:9/a-secret-path-of-a-hook" }),
    );
    const made = await plimsoll("endpoints", "create", "ops", file);
    expect(made).toContain('Created the endpoint "ops".');
    const [, secret] = /(whsec_\S+)/.exec(made)!;
    const tested = await plimsoll("test", "ops");
    expect(tested).toContain("ops did not take the test: connection_refused");
    expect(process.exitCode).toBe(2);
    const listed = await plimsoll("endpoints");
    expect(listed).toContain("ops  webhook  http://127.0.0.1:9/…");
    expect(listed).toContain("last connection_refused just now");
    for (const text of [tested, listed, await plimsoll("endpoints", "--json")]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain("a-secret-path");
    }
  });

  it("exports rules with the names of their endpoints, and imports them by those", async () => {
    const yaml = join(folder, "named.yaml");
    const rule = "rules:\n  - name: Named\n    condition: { type: window_suspect }\n    endpoints: [ops]\n";
    await writeFile(yaml, rule);
    await plimsoll("rules", "import", yaml);
    expect(await plimsoll("rules", "export")).toMatch(/endpoints:\n {6}- ops\n/);
    await writeFile(yaml, rule.replace("[ops]", "[nobody]"));
    expect((await failure("rules", "import", yaml)).message).toContain(
      'rules.0.endpoints: there is no endpoint named "nobody". Create it first',
    );
  });
});
