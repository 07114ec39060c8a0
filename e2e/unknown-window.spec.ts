import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("an unknown window shows tokens without a percentage until its size is set", async ({
  page,
  send,
  harness,
}) => {
  const model = `house-model-of-${harness}`;
  await send(new EventBuilder({ harness, session: "mystery", model }).turns(38_000, 39_500, 41_000).take());
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row");
  await expect(row.getByTestId("context-tokens")).toHaveText("41k");
  await expect(row).toHaveAttribute("data-state", "unknown");
  await expect(row).toContainText("size unknown");
  await expect(row).not.toContainText("%");
  // Nothing to draw the level against.
  await expect(row.getByTestId("hull-none")).toBeVisible();
  await expect(row.getByTestId("hull-level")).toHaveCount(0);
  await expect(page.getByTestId("next")).toHaveText("No agent has a known line");
  await expect(page.getByTestId("tile-peak")).toContainText("—");

  await row.getByRole("link", { name: "mystery" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("size unknown");
  await expect(page.getByTestId("tile-load")).toContainText("no known line");
  await page.goBack();

  await row.getByRole("link", { name: "set it" }).click();
  await expect(page).toHaveURL(/\/setup\?model=/);
  const form = page.locator("#windows");
  await expect(form.getByRole("button", { name: `Set the size of ${model}` })).toBeVisible();
  await expect(form.getByRole("textbox", { name: "Model" })).toHaveValue(model);
  await form.getByRole("textbox", { name: "Tokens" }).fill("nonsense");
  await expect(form.getByText("Enter a whole number, such as 131072, 128k or 1M.")).toBeVisible();
  await expect(form.getByRole("button", { name: "Set size", exact: true })).toBeDisabled();
  await form.getByRole("textbox", { name: "Tokens" }).fill("160k");
  await expect(form.locator("#size-read")).toHaveText("160,000 tokens");
  await form.getByRole("button", { name: "Set size", exact: true }).click();
  await expect(page.getByTestId("windows")).toContainText(model);
  await expect(page.getByTestId("windows")).toContainText("160,000 tokens");

  await page.goto(`/?harness=${harness}`);
  await expect(row.getByTestId("window-end")).toHaveText("160k");
  await expect(row.getByTestId("line")).toContainText("configured size");
  await expect(row.getByTestId("load")).toContainText("128%");
  await expect(page.getByTestId("tile-peak")).toContainText("25.6%");
  await row.getByRole("link", { name: "mystery" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("25.6% of 160k");
  await expect(page.getByTestId("log-crossing").first()).toContainText("Rose above");
});

test("a new model without a known window appears on Setup without a reload", async ({
  page,
  send,
  harness,
}) => {
  const model = `new-model-of-${harness}`;
  await page.goto("/setup");
  await live(page);
  await send(new EventBuilder({ harness, session: "newcomer", model }).turn(9_000).take());
  await expect(page.getByRole("button", { name: `Set the size of ${model}` })).toBeVisible();
});

test("turns without a token count are uncounted, not zero", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "miscounted", window: 200_000 })
    .turns(10_000, 12_000)
    .turn(0, { usage: { output_tokens: 40 } });
  await send(agent.take());
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row");
  await expect(row.getByTestId("context-tokens")).toHaveText("12k");
  await expect(row).toContainText("1 uncounted turn");
  await row.getByRole("link", { name: "miscounted" }).click();
  await expect(page.getByTestId("log-turn").first()).toContainText("not counted");
  await expect(page.getByTestId("tile-now")).toContainText("12k");
});
