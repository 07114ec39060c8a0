import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, live, test } from "./fixtures.ts";

const run = promisify(execFile);

test.use({ lines: false });

test("the page and one curl command record the first turn", async ({ page, server }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Send the first turn" })).toBeVisible();
  await expect(page.getByTestId("first-event")).toHaveText("Waiting for the first event");
  await live(page);

  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Key created and inserted below")).toBeVisible();
  const command = (await page.getByTestId("first-snippet").textContent()) ?? "";
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
  await expect(page.getByRole("heading", { name: "Send the first turn" })).toHaveCount(0);

  await row.getByRole("link", { name: "first-try" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("first-try");
  await expect(page.getByTestId("tile-now")).toContainText("39.6k");
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
