import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const POLICY = `# The lines of everybody
settings:
  thresholds:
    ceiling: 70%
    warning: 50%
layers:
  - scope: { family: phantom }
    settings: { thresholds: { warning: 15%, ceiling: 20% } }
`;

describe("plimsoll policy with a real server", () => {
  let server: Plimsoll;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plimsoll-policy-"));
    file = join(folder, "policy.yaml");
    await writeFile(file, POLICY);
    server = await startPlimsoll();
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
    await program.parseAsync(["node", "plimsoll", "policy", ...args]);
    return text;
  }

  const failure = async (...args: string[]): Promise<CliError> => {
    const error = await plimsoll(...args).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CliError);
    return error as CliError;
  };

  it("says how to begin, checks a file, and shows what it changes", async () => {
    expect(await plimsoll("history")).toContain("plimsoll policy set policy.yaml");
    expect(await plimsoll("get")).toBe("# No settings\n");
    expect(await plimsoll("validate", file)).toBe("The policy is valid.\n");
    const diff = await plimsoll("diff", file);
    expect(diff).toContain("--- generation 0");
    expect(diff).toContain("+    ceiling: 70%");
  });

  it("saves a file, prints it with its comments, and what a harness is offered", async () => {
    expect(await plimsoll("set", file, "-m", "the first lines")).toBe("Saved as generation 1.\n");
    expect(POLICY).toContain("# The lines of everybody");
    expect(await plimsoll("get")).toBe(POLICY);
    expect(await plimsoll("diff", file)).toBe("No difference.\n");
    expect(JSON.parse(await plimsoll("get", "--harness", "phantom@vm-3", "--json"))).toEqual({
      thresholds: { warning: "15%", ceiling: "20%" },
    });
    expect(JSON.parse(await plimsoll("get", "--json"))).toMatchObject({ generation: 1 });
  });

  it("exports managed settings of Claude Code, also for groups of the gateway", async () => {
    expect(JSON.parse(await plimsoll("export", "--window", "1000000"))).toEqual({
      autoCompactWindow: 733_000,
    });
    const models = ["--model", "claude-opus-5", "claude-sonnet-4-5"];
    expect(await plimsoll("export", "--window", "1000000", ...models, "--group", "eng", "ops")).toBe(
      `managed:
  policies:
    - match:
        groups:
          - eng
          - ops
      cli:
        autoCompactWindow: 733000
        modelSettings:
          claude-opus-5:
            autoCompactWindow: 733000
          claude-sonnet-4-5:
            autoCompactWindow: 733000
`,
    );
    expect(await plimsoll("export", "--window", "1000000", "--gateway")).toContain("match: {}");
    expect(await failure("export")).toMatchObject({
      message: "The policy sets no line that Claude Code's settings can express.",
      hint: expect.stringContaining("name it with --window or --model"),
    });
    expect((await failure("export", "--window", "1000000", "--group", "")).message).toContain("empty");
  });

  it.each(["", "  ", "--expect"])("says that the reason is missing in -m %j", async (reason) => {
    for (const args of [
      ["set", file],
      ["rollback", "1"],
    ])
      expect(await failure(...args, "-m", reason)).toMatchObject({
        message: "The reason is missing.",
        hint: 'Say why, such as -m "earlier masking for Opus".',
      });
  });

  it("names every mistake with its field and the fix", async () => {
    const wrong = join(folder, "wrong.yaml");
    await writeFile(wrong, "settings:\n  thresholds: { warning: 80%, ceiling: 50%, soft: 0 }\n");
    const { message } = await failure("set", wrong, "-m", "oops");
    expect(message).toContain("has mistakes:\n");
    expect(message).toContain("settings.thresholds.warning: 80% must be below ceiling");
    expect(message).toContain("settings.thresholds.soft: 0 is no line");
    await writeFile(wrong, "settings: [");
    expect((await failure("validate", wrong)).message).toContain("is not valid YAML");
    expect((await failure("validate", join(folder, "missing.yaml"))).hint).toContain("YAML or JSON file");
  });

  it("does not overwrite what somebody else saved, lists the versions and rolls back", async () => {
    const { message } = await failure("set", file, "-m", "late", "--expect", "0");
    expect(message).toContain("Somebody saved generation 1");
    await writeFile(file, POLICY.replace("70%", "60%"));
    expect(await plimsoll("set", file, "-m", "lower", "--expect", "1")).toBe("Saved as generation 2.\n");
    expect(await plimsoll("diff", file, "--generation", "1")).toContain("+    ceiling: 60%");
    expect(await plimsoll("rollback", "1", "-m", "too low")).toBe(
      "Generation 1 is saved again as generation 3.\n",
    );
    const history = await plimsoll("history");
    expect(history).toMatch(/3 .*command line +too low \(repeats 1\)/);
    expect(history.split("\n")).toHaveLength(5);
    expect(await plimsoll("get")).toContain("ceiling: 70%");
  });

  it("shows how far each harness is", async () => {
    expect(await plimsoll("watch", "--once")).toBe("No harness has sent events yet.\n");
    expect(JSON.parse(await plimsoll("watch", "--json"))).toMatchObject({ generation: 3, harnesses: [] });
  });
});
