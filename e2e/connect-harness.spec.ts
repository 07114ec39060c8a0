import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, live, test } from "./fixtures.ts";

const PROGRAM = fileURLToPath(new URL("../packages/cli/bin/plimsoll.js", import.meta.url));

test.use({ lines: false });

test("Setup shows the settings of a harness, and its first event after plimsoll connect", async ({
  page,
  server,
}) => {
  const home = await mkdtemp(join(tmpdir(), "connect-story-"));
  try {
    await page.goto("/setup");
    await page.getByRole("tab", { name: "Claude Code" }).click();
    await expect(page.getByTestId("harness-event")).toHaveText("Waiting for the first event of Claude Code");
    await expect(page.getByTestId("snippet-claude-code-settings")).toContainText(
      `"OTEL_EXPORTER_OTLP_ENDPOINT": "${server.url}/otlp"`,
    );
    await expect(page.getByTestId("snippet-claude-code-mcp")).toContainText("plimsoll mcp");
    await live(page);

    const command = (await page.getByTestId("snippet-claude-code").textContent()) ?? "";
    expect(command).toContain("npx plimsoll connect claude-code");
    const { key, text } = await test.step("run the command of the page", async () => {
      const { secret } = await server.mutate<{ secret: string }>("keys.create", {
        name: "laptop",
        scopes: ["ingest"],
      });
      const script = command
        .replace("YOUR_KEY", secret)
        .replace("npx plimsoll", `"${process.execPath}" "${PROGRAM}"`);
      const env = {
        PATH: process.env.PATH,
        HOME: home,
        PLIMSOLL_HOME: join(home, "plimsoll"),
        NODE_ENV: "test" as const,
      };
      const child = spawn("bash", ["-c", `${script} --yes`], { env });
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stderr.on("data", (chunk) => (said += chunk));
      const code = await new Promise((resolve) => child.on("close", resolve));
      expect(code, said).toBe(0);
      return { key: secret, text: said };
    });
    expect(text).not.toContain(key);
    const { env } = JSON.parse(await readFile(join(home, ".claude/settings.json"), "utf8")) as {
      env: Record<string, string>;
    };
    expect(env.OTEL_EXPORTER_OTLP_HEADERS).toBe(`x-api-key=${key}`);

    await test.step("send what Claude Code sends", async () => {
      const string = (name: string, stringValue: string) => ({ key: name, value: { stringValue } });
      const attributes = Object.entries({
        "session.id": "s",
        request_id: "r1",
        model: "claude-opus-5",
        input_tokens: "9000",
        output_tokens: "10",
      });
      const answer = await fetch(`${env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({
          resourceLogs: [
            {
              resource: {
                attributes: [string("service.name", "claude-code"), string("host.name", "laptop")],
              },
              scopeLogs: [
                {
                  logRecords: [
                    {
                      timeUnixNano: `${Date.now()}000000`,
                      eventName: "claude_code.api_request",
                      attributes: attributes.map(([name, value]) => string(name, value)),
                    },
                  ],
                },
              ],
            },
          ],
        }),
      });
      expect(answer.status).toBe(200);
    });
    await expect(page.getByTestId("harness-event")).toContainText("claude-code@laptop reported");
    await page.getByRole("tab", { name: "Gemini CLI" }).click();
    await expect(page.getByTestId("harness-event")).toHaveText("Waiting for the first event of Gemini CLI");
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
