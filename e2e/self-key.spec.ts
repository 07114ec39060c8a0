import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";

test("An agent elsewhere asks how full its window is, with a key from Setup @phone", async ({
  page,
  server,
  send,
  harness,
}) => {
  const turn = { type: "turn", id: "t1", at: Date.now(), harness, session: "s1", model: "claude-sonnet-4-5" };
  await send([{ ...turn, usage: { input_tokens: 150_000, output_tokens: 500 } }]);
  await page.goto("/setup");
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("support agents");
  await dialog.getByRole("checkbox", { name: /^ingest/ }).uncheck();
  await expect(dialog.getByLabel("Harness", { exact: true })).toHaveCount(0);
  await dialog.getByRole("checkbox", { name: /^self/ }).check();
  const create = dialog.getByRole("button", { name: "Create", exact: true });
  await expect(create).toBeDisabled();
  const name = dialog.getByRole("combobox", { name: "Harness" });
  const note = dialog.getByTestId("harness-note");
  await expect(note).toHaveText("The instance or the family whose agents may ask.");
  await name.fill("elsewhere");
  await expect(note).toContainText("No harness of this name has reported yet");
  await name.fill(harness);
  await expect(note).toHaveText(`Answers agents of the instance ${harness}.`);
  expect(await violations(page)).toEqual([]);
  await create.click();
  const key = await dialog.getByTestId("secret").textContent();
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.getByTestId("keys").getByRole("listitem").filter({ hasText: "support agents" });
  await expect(row).toContainText(`agents of ${harness}`);

  const answer = await fetch(`${server.url}/api/v1/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key?.trim()}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "plimsoll-session": "s1",
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "headroom", arguments: { detail: true } },
    }),
  });
  expect(await answer.text()).toContain(String.raw`\"counted\":150000`);
  await page.reload();
  await expect(row).toContainText("used");
});
