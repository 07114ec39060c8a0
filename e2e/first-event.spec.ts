import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

const run = promisify(execFile);

test.use({ lines: false });

test("the page and one curl command record the first turn", async ({ page, server }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "What do you run?" })).toBeVisible();
  await expect(page.getByRole("tab")).toHaveText([
    "Claude Code",
    "Codex",
    "Another harness",
    "Import history",
    "Demo",
    "curl",
  ]);
  await page.getByRole("tab", { name: "curl" }).click();
  await expect(page.getByTestId("first-event")).toHaveText("Waiting for the first event");
  await live(page);

  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Key created and inserted below")).toBeVisible();
  const command = (await page.getByTestId("first-curl").textContent()) ?? "";
  expect(command).toContain(`curl ${server.url}/api/v1/events`);
  expect(command).toMatch(/Bearer plim_\w+/);

  const { stdout } = await run("bash", ["-c", command.replace("curl ", "curl --silent --fail-with-body ")]);
  expect(JSON.parse(stdout)).toEqual({ accepted: 1, rejected: [] });

  // Without a reload.
  const row = page.getByTestId("fleet-row");
  await expect(row).toHaveCount(1);
  await expect(row.getByRole("link", { name: "first-try" })).toBeVisible();
  await expect(row.getByTestId("context-tokens")).toHaveText("39.6k");
  await expect(row.getByTestId("context-tokens")).toHaveAttribute("title", "39,600 tokens");
  await expect(page.getByRole("heading", { name: "What do you run?" })).toHaveCount(0);

  await row.getByRole("link", { name: "first-try" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("first-try");
  await expect(page.getByTestId("tile-now")).toContainText("39.6k");
});

/** Runs a command of the page on the server's machine, as somebody who installed Plimsoll. */
async function runThere(command: string, server: PlimsollServer, home: string) {
  const program = fileURLToPath(new URL("../packages/cli/bin/plimsoll.js", import.meta.url));
  return run("bash", ["-c", command.replace("npx plimsoll", `"${process.execPath}" "${program}"`)], {
    env: { PATH: process.env.PATH, HOME: home, PLIMSOLL_HOME: server.home, NODE_ENV: "test" },
  });
}

test("each answer of the first screen has a command that runs, and says when the first event arrives", async ({
  page,
  server,
  send,
}) => {
  const home = await mkdtemp(join(tmpdir(), "first-"));
  try {
    await page.goto("/");
    const panel = page.getByRole("tabpanel");
    for (const [tab, family] of [
      ["Claude Code", "claude-code"],
      ["Codex", "codex"],
    ] as const) {
      await page.getByRole("tab", { name: tab, exact: true }).click();
      await expect(panel.locator("pre")).toHaveCount(1);
      await expect(panel.getByTestId("harness-event")).toContainText("Waiting for the first event of ");
      const command = (await page.getByTestId(`first-${family}`).textContent())!;
      const { stdout } = await runThere(`${command} --yes --no-wait`, server, home);
      expect(stdout).toContain(tab);
    }
    await page.getByRole("tab", { name: "Another harness" }).click();
    await page.getByRole("button", { name: /^Harness:/ }).click();
    await expect(page.getByRole("menuitemradio")).toHaveText([
      "Gemini CLI",
      "Qwen Code",
      "opencode",
      "Copilot CLI",
      "Cline CLI",
      "Ouroboros",
      "agentd",
      "Your own, in TypeScript",
    ]);
    await page.getByRole("menuitemradio", { name: "Cline CLI" }).click();
    await expect(page.getByTestId("first-cline")).toContainText("npx plimsoll connect cline");

    await page.getByRole("tab", { name: "Import history" }).click();
    const history = (await page.getByTestId("first-claude-code-history").textContent())!;
    expect(history).toContain("npx plimsoll import ~/.claude/projects");
    await page.getByRole("tab", { name: "Claude Code", exact: true }).click();
    await live(page);
    await send(new EventBuilder({ harness: "claude-code@laptop", session: "mine" }).turn(9_000).take());
    await expect(page.getByTestId("fleet-row")).toHaveCount(1);
    await page.goto("/setup");
    await page.getByRole("tab", { name: "Claude Code" }).click();
    await expect(page.getByTestId("harness-event")).toContainText("claude-code@laptop reported ");
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

test("an empty Fleet has few terms, each explained on focus and on tap @phone", async ({
  page,
  isMobile,
}) => {
  await page.goto("/");
  const terms = page.locator("main [data-term]");
  await expect(terms).toHaveText(["context window", "harness", "turns"]);
  for (const term of await terms.all()) {
    if (isMobile) await term.tap();
    else await term.hover();
    await expect(page.getByRole("tooltip")).toBeVisible();
    await page.keyboard.press("Escape");
    await page.mouse.move(0, 0);
    await expect(page.getByRole("tooltip")).toHaveCount(0);
  }
  expect(await violations(page)).toEqual([]);
});

test("an answer that is pressed before the page is hydrated is chosen afterwards", async ({ page }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/*.js", async (route) => {
    await released;
    await route.continue();
  });
  await page.goto("/", { waitUntil: "commit" });
  const demo = page.getByRole("tab", { name: "Demo" });
  await demo.click();
  await expect(demo).toHaveAttribute("aria-selected", "false");
  release();
  await expect(demo).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("button", { name: "Start demo fleet" })).toBeVisible();
});

test("Setup creates a key, shows it once, and shows when events arrive", async ({ page, server }) => {
  await page.goto("/setup");
  await expect(page.getByTestId("first-event")).toHaveText("Waiting for the first event");
  await live(page);
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("build machine");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  const secret = ((await dialog.getByTestId("secret").textContent()) ?? "").trim();
  expect(secret).toMatch(/^plim_/);
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("tab", { name: "curl" }).click();
  await expect(page.getByTestId("snippet-curl")).toContainText(secret);

  const response = await fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      id: "1",
      type: "turn",
      at: Date.now(),
      harness: "by-hand",
      session: "first",
      model: "claude-opus-4-6",
      usage: { input_tokens: 1_000 },
    }),
  });
  expect(response.status).toBe(200);
  await expect(page.getByTestId("first-event")).toHaveText("Events are arriving");

  await page.reload();
  await expect(page.getByTestId("keys")).toContainText("build machine");
  await expect(page.getByText(secret)).toHaveCount(0);

  await page.getByRole("button", { name: "Actions for build machine" }).click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(page.getByTestId("keys")).toContainText("revoked");
  const refused = await fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: "[]",
  });
  expect(refused.status).toBe(401);
});
