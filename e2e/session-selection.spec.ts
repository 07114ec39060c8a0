import { readFile } from "node:fs/promises";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { parseCsv } from "./support/csv.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.beforeEach(async ({ send, harness }) => {
  const names = ["alpha", "beta", "gamma", "delta", "epsilon"];
  for (const [index, session] of names.entries()) {
    const builder = new EventBuilder({
      harness,
      session,
      window: 200_000,
      start: Date.now() - (10 + index) * 60_000,
    });
    await send(builder.turns(20_000, 60_000 - index * 5_000, 9_000).take());
  }
});

test("a selection by pointer and keyboard is tagged, exported and cleared", async ({ page, harness }) => {
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(5);
  const box = (name: string) => page.getByRole("checkbox", { name: `Select ${name}` });
  const bar = page.getByRole("toolbar", { name: "Selected sessions" });
  await box("beta").click();
  await box("delta").click({ modifiers: ["Shift"] });
  await expect(bar).toContainText("3 selected");
  await expect(box("gamma")).toBeChecked();

  await rows.getByRole("link", { name: "gamma" }).focus();
  await page.keyboard.press("x");
  await expect(bar).toContainText("2 selected");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("x");
  await expect(bar).toContainText("3 selected");

  await bar.getByRole("button", { name: "Tag" }).click();
  await page.getByPlaceholder("Find or create a tag").fill("Look  Again");
  await page.getByRole("option", { name: "Create tag “look again”" }).click();
  for (const name of ["beta", "gamma", "delta"])
    await expect(rows.filter({ hasText: name })).toContainText("look again");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rows.filter({ hasText: "beta" })).not.toContainText("look again");
  await page.keyboard.press("Escape");

  const [file] = await Promise.all([
    page.waitForEvent("download"),
    bar.getByRole("button", { name: "Export the selection as CSV" }).click(),
  ]);
  const exported = parseCsv(await readFile(await file.path(), "utf8"));
  expect(exported.map(({ session }) => session).sort()).toEqual(["beta", "delta", "gamma"]);
  await bar.getByRole("button", { name: "Clear the selection" }).click();
  await expect(bar).toHaveCount(0);
  await page.getByRole("checkbox", { name: "Select all loaded sessions" }).click();
  await expect(bar).toContainText("5 selected");
});

test("selected sessions are deleted, and an undo brings them back", async ({ page, harness }) => {
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await page.getByRole("checkbox", { name: "Select beta" }).click();
  await page.getByRole("checkbox", { name: "Select delta" }).click();
  const remove = page.getByRole("button", { name: "Delete the selected sessions" });
  await remove.click();
  await expect(rows).toHaveCount(3);
  await expect(rows.filter({ hasText: "beta" })).toHaveCount(0);
  await expect(page.getByTestId("session-count")).toHaveText("3 sessions");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rows).toHaveCount(5);
});

test("tags and a note are changed on the session and found in the list", async ({ page, harness }) => {
  // A tag has at most 50 characters.
  const tag = `tag of ${harness}`.slice(0, 40);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "gamma" }).click();
  const additions = page.getByRole("region", { name: "About the session" });
  await additions.getByRole("button", { name: "Tag", exact: true }).click();
  await page.getByPlaceholder("Find or create a tag").fill(tag);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await expect(additions.getByRole("list", { name: "Tags" })).toContainText(tag);
  await additions.getByRole("button", { name: "Add note" }).click();
  const dialog = page.getByRole("dialog", { name: "Note" });
  await dialog.getByRole("textbox").fill("Fell without a reason.\nAsk the model's people.");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByTestId("note")).toContainText("Ask the model's people.");

  await additions.getByRole("link", { name: tag }).click();
  await expect(page).toHaveURL(/tag=/);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveText([/gamma/]);
  await expect(rows.getByText("Note: Fell without a reason.")).toBeAttached();
});

test.describe("two people", () => {
  test.beforeEach(({ expectedErrors }) => {
    expectedErrors.push(/409/);
  });

  test("a note that somebody else changed meanwhile is not overwritten", async ({
    page,
    server,
    harness,
  }) => {
    await page.goto(`/sessions?harness=${harness}`);
    await page.getByRole("link", { name: "alpha" }).click();
    await page.getByRole("button", { name: "Add note" }).click();
    const dialog = page.getByRole("dialog", { name: "Note" });
    await dialog.getByRole("textbox").fill("Mine");
    const id = new URL(page.url()).pathname.split("/").at(-1);
    await server.mutate("sessions.saveNote", { id, note: "Theirs", expected: 0 });
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toContainText("Theirs");
    await dialog.getByRole("button", { name: "Keep my text" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(page.getByTestId("note")).toHaveText("Mine");
  });
});

test("two sessions are compared on one axis, and the link opens the same comparison", async ({
  page,
  harness,
  expectedErrors,
}) => {
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("checkbox", { name: "Select alpha" }).click();
  await page.getByRole("checkbox", { name: "Select beta" }).click();
  await page.getByRole("link", { name: "Compare" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Compare sessions");
  const chart = page.getByRole("region", { name: "Context tokens" });
  await expect(chart.locator(".recharts-line-curve")).toHaveCount(2);
  const facts = page.getByRole("region", { name: "Facts", exact: true });
  await expect(facts.getByRole("row", { name: /Peak tokens/ })).toContainText("60k");
  await expect(facts.getByRole("row", { name: /Peak tokens/ })).toContainText("−5k");
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await expect(page).toHaveURL(/unit=share/);
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await expect(page.getByRole("region", { name: "Share of the context window" })).toBeVisible();
  await page.getByRole("button", { name: "View as table" }).click();
  await expect(page.getByRole("row", { name: "2 A 30.0%" })).toBeVisible();
  await page.getByRole("button", { name: "Swap" }).click();
  await expect(facts.getByRole("row", { name: /Peak tokens/ })).toContainText("+5k");

  expectedErrors.push(/400|404/);
  await page.goto("/sessions/compare?a=nothing");
  await expect(page.getByTestId("empty")).toContainText("One of these sessions does not exist");
});
