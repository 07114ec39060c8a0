import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ScriptedCall, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { createProgram } from "../program.ts";
import {
  claudeEnv,
  codexModel,
  EXPORTS_SOON,
  geminiEnv,
  harnessProgram,
  runHarness,
  shellCall,
} from "../testing/real-harness.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const PATIENCE = 180_000;
/** Claude Code's own program, which its SDK brings. */
const CLAUDE = join(
  dirname(dirname(createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk"))),
  `claude-agent-sdk-${process.platform}-${process.arch}`,
  "claude",
);
/** Telemetry of a call is sent after it. */
const SENT_MS = 1_500;
/** Gemini CLI 0.61 sends every 5 s, and takes no other interval. */
const GEMINI_SENT_MS = 7_000;

let plimsoll: Plimsoll;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-mcp-http-"));
  await mkdir(join(home, "project"));
  plimsoll = await startPlimsoll();
});
afterAll(async () => {
  await plimsoll?.stop();
  await rm(home, { recursive: true, force: true });
});

async function keyFor(scope: string, ...more: string[]): Promise<string> {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  const out = { width: 200, isTty: false, color: false, write };
  const env = { PLIMSOLL_HOME: plimsoll.home, PLIMSOLL_URL: plimsoll.url };
  const words = ["key", "create", "--scope", scope, "--quiet", ...more];
  await createProgram({ env, now: Date.now, out, err: out } as never).parseAsync(words, { from: "user" });
  return text.trim();
}

it("Claude Code, which sends only telemetry, asks the server about its own session", {
  timeout: PATIENCE,
}, async () => {
  const session = randomUUID();
  const answers: Record<string, unknown>[] = [];
  const model = await startScriptedModel(async (request) => {
    const shell = shellCall(request, "true");
    const messages = JSON.stringify(request.messages);
    if (shell === undefined || !messages.includes("Have-it-done"))
      return { text: "Aside.", promptTokens: 77 };
    const found = /\{"verdict":.*?"server":"known"\}/.exec(messages.replaceAll(/\\+"/g, '"'))?.[0];
    if (found !== undefined) {
      answers.push(JSON.parse(found) as Record<string, unknown>);
      return { text: "All done.", promptTokens: 60_400 };
    }
    const steps = messages.match(/"tool_use"/g)?.length ?? 0;
    const { is_background: _, ...given } = shell.arguments as Record<string, unknown>;
    if (steps === 0) return { calls: [{ ...shell, arguments: given }], promptTokens: 50_000 };
    await new Promise((resolve) => setTimeout(resolve, SENT_MS));
    const name = "mcp__plimsoll__headroom";
    return { calls: [{ name, arguments: { detail: true } }], promptTokens: 60_000 };
  });
  try {
    const url = `${plimsoll.url}/api/v1/mcp`;
    const headers = {
      Authorization: `Bearer ${await keyFor("self", "--harness", "claude-code")}`,
      // Claude Code puts in the variable.
      "Plimsoll-Session": "$".concat("{AGENT_SESSION}"),
      "Plimsoll-Agent": "main",
    };
    const server = { type: "http", url, alwaysLoad: true, headers };
    await writeFile(join(home, "project/mcp.json"), JSON.stringify({ mcpServers: { plimsoll: server } }));
    const env = {
      ...claudeEnv(model.url),
      ...EXPORTS_SOON,
      AGENT_SESSION: session,
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `${plimsoll.url}/otlp`,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${await keyFor("ingest")}`,
    };
    const words = [
      "-p",
      "--dangerously-skip-permissions",
      "--mcp-config=mcp.json",
      "--disallowedTools=Agent",
      `--session-id=${session}`,
    ];
    const run = { home, cwd: join(home, "project"), limit: PATIENCE - 60_000, env };
    const asHeaders = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
    const added = ["mcp", "add", "--scope", "user", "--transport", "http", "added", url, ...asHeaders];
    await runHarness([CLAUDE, ...added], run);
    expect(await runHarness([CLAUDE, "mcp", "list"], run)).toMatch(/added.*Connected/);
    const output = await runHarness([CLAUDE, ...words, "Have-it-done"], run);
    expect(
      answers,
      `${output}\n${JSON.stringify(model.requests.at(-1)?.messages).slice(-2_000)}`,
    ).toMatchObject([{ verdict: "plenty", level: { counted: expect.any(Number) } }]);
    const { counted } = answers[0]!.level as { counted: number };
    expect([50_000, 60_000]).toContain(counted);
  } finally {
    await model.close();
  }
});

const [CODEX, GEMINI] = [harnessProgram("codex"), harnessProgram("gemini")];

/** Answers of the server in a request, which each format quotes in its own way. */
const answersIn = (messages: unknown): Record<string, unknown>[] =>
  [
    ...JSON.stringify(messages)
      .replaceAll(/\\+"/g, '"')
      .matchAll(/\{"(?:verdict|refused)":.*?\}(?=\\n|"[}\],])/g),
  ].map(([text]) => JSON.parse(text) as Record<string, unknown>);

/**
 * A model whose first call runs a command, while telemetry of it leaves, and that asks after the second until it has two answers.
 * @param call a call of the tool
 * @param sentMs until telemetry of a call has left
 */
const askingModel = (
  call: () => ScriptedCall,
  sentMs: number,
  found: (answers: Record<string, unknown>[]) => void,
) =>
  startScriptedModel(async (request) => {
    const shell = shellCall(request, "true");
    const messages = JSON.stringify(request.messages);
    if (shell === undefined || !messages.includes("Have-it-done"))
      return { text: "Aside.", promptTokens: 77 };
    const answers = answersIn(request.messages);
    found(answers);
    if (answers.length > 0) return { text: "All done.", promptTokens: 60_400 };
    if (!/"(?:function_call|functionCall)"/.test(messages)) return { calls: [shell], promptTokens: 50_000 };
    await new Promise((resolve) => setTimeout(resolve, sentMs));
    return { calls: [call()], promptTokens: 60_000 };
  });

it.skipIf(CODEX === undefined)(
  "Codex, which sends only telemetry, asks about its own thread without a header",
  { timeout: PATIENCE },
  async () => {
    let answers: Record<string, unknown>[] = [];
    const model = await askingModel(
      () => ({ name: "headroom", namespace: "mcp__plimsoll", arguments: { detail: true } }),
      SENT_MS,
      (found) => {
        answers = found;
      },
    );
    try {
      const otel = `[otel]\nexporter = { otlp-http = { endpoint = "${plimsoll.url}/otlp/v1/logs", protocol = "binary", headers = { x-api-key = "${await keyFor("ingest")}" } } }\n`;
      const server = `[mcp_servers.plimsoll]\nurl = "${plimsoll.url}/api/v1/mcp"\nbearer_token_env_var = "PLIMSOLL_SELF_KEY"\n`;
      const own = join(home, "codex");
      for (const [path, text] of Object.entries(codexModel(model.url))) {
        await mkdir(dirname(join(own, path)), { recursive: true });
        await writeFile(join(own, path), text + otel + server);
      }
      const output = await runHarness(
        [
          CODEX!,
          "exec",
          "--skip-git-repo-check",
          "--dangerously-bypass-approvals-and-sandbox",
          "Have-it-done",
        ],
        {
          home: own,
          cwd: join(home, "project"),
          limit: PATIENCE - 60_000,
          env: {
            PLIMSOLL_SELF_KEY: await keyFor("self", "--harness", "codex"),
            OTEL_BLRP_SCHEDULE_DELAY: "100",
          },
        },
      );
      // Its telemetry has no window size, and nothing knows that of this model.
      expect(answers, output).toMatchObject([{ verdict: "unknown", server: "known" }]);
      const { counted } = answers[0]!.level as { counted: number };
      expect([50_000, 60_000]).toContain(counted);
    } finally {
      await model.close();
    }
  },
);

it.skipIf(GEMINI === undefined)(
  "Gemini CLI, which sends only telemetry, asks about the session and agent of its headers",
  { timeout: PATIENCE },
  async () => {
    let answers: Record<string, unknown>[] = [];
    const model = await askingModel(
      () => ({ name: "mcp_plimsoll_headroom", arguments: { detail: true } }),
      GEMINI_SENT_MS,
      (found) => {
        answers = found;
      },
    );
    const session = randomUUID();
    const ingest = await keyFor("ingest");
    const env = {
      ...geminiEnv(model.url),
      PLIMSOLL_SELF_KEY: await keyFor("self", "--harness", "gemini-cli"),
      AGENT_SESSION: session,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${ingest}`,
      OTEL_BLRP_SCHEDULE_DELAY: "100",
    };
    const runWith = async (agent: object) => {
      const headers = {
        Authorization: "Bearer $PLIMSOLL_SELF_KEY",
        "Plimsoll-Session": "$AGENT_SESSION",
        ...agent,
      };
      const own = join(home, `gemini-${Object.keys(agent).length}`);
      await mkdir(join(own, ".gemini"), { recursive: true });
      const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        telemetry: {
          enabled: true,
          target: "local",
          otlpEndpoint: `${plimsoll.url}/otlp`,
          otlpProtocol: "http",
        },
        tools: { exclude: ["invoke_agent"] },
        mcpServers: { plimsoll: { httpUrl: `${plimsoll.url}/api/v1/mcp`, headers, trust: true } },
      };
      await writeFile(join(own, ".gemini/settings.json"), JSON.stringify(settings));
      const words = [
        "--yolo",
        "--model",
        "gemini-2.5-pro",
        "--session-id",
        session,
        "--prompt",
        "Have-it-done",
      ];
      return runHarness([GEMINI!, ...words] as [string, ...string[]], {
        ...{ home: own, cwd: join(home, "project"), limit: (PATIENCE - 60_000) / 2, env },
      });
    };
    try {
      const output = await runWith({ "Plimsoll-Agent": "main" });
      expect(answers, output).toMatchObject([{ verdict: "plenty", server: "known" }]);
      expect([50_000, 60_000]).toContain((answers[0]!.level as { counted: number }).counted);
      const tools = JSON.stringify(model.requests.map(({ body }) => body.tools));
      expect(tools).toContain("mcp_plimsoll_headroom");
      expect(tools).not.toContain("invoke_agent");
      // Its sub-agents would use the same headers.
      await runWith({});
      expect(answers).toMatchObject([{ refused: "no_agent" }]);
    } finally {
      await model.close();
    }
  },
);
