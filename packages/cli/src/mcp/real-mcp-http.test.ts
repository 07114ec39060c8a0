import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { createProgram } from "../program.ts";
import { claudeEnv, EXPORTS_SOON, runHarness, shellCall } from "../testing/real-harness.ts";
import { hasServer, type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const PATIENCE = 180_000;
/** Claude Code's own program, which its SDK brings. */
const CLAUDE = join(
  dirname(dirname(createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk"))),
  `claude-agent-sdk-${process.platform}-${process.arch}`,
  "claude",
);
/** Telemetry of a call is sent after it. */
const SENT_MS = 1_500;

let plimsoll: Plimsoll;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-mcp-http-"));
  await mkdir(join(home, "project"));
  if (hasServer) plimsoll = await startPlimsoll();
}, 120_000);
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

it.skipIf(!hasServer)(
  "Claude Code, which sends only telemetry, asks the server about its own session",
  { timeout: PATIENCE },
  async () => {
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
  },
);
