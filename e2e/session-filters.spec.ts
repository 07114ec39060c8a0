import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

const DAY = 86_400_000;

function sessions(harness: string) {
  const eventsFor = (session: string, model: string, ...levels: number[]) =>
    new EventBuilder({ harness, session, model, window: 200_000 }).turns(...levels);
  return [
    eventsFor("masked", "claude-opus-4-6", 60_000)
      .event("masked", { observations: 4, tokens_before: 60_000, tokens_after: 20_000 })
      .turns(20_000),
    eventsFor("unexplained", "claude-opus-4-6", 80_000, 9_000),
    eventsFor("calm", "qwen3-coder", 5_000, 6_000, 7_000),
  ].flatMap((agent) => agent.take());
}

test("filters are chosen from one list, shown as chips and removed one by one", async ({
  page,
  send,
  harness,
}) => {
  await send(sessions(harness));
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(3);
  await expect(page.getByTestId("session-count")).toHaveText("3 sessions");
  const chips = page.getByRole("list", { name: "Filters" });
  await expect(chips.getByRole("listitem")).toHaveText([new RegExp(harness)]);

  const filter = page.getByRole("button", { name: "Filter", exact: true });
  await filter.click();
  const field = page.getByPlaceholder("Filter by");
  await expect(field).toBeFocused();
  await page.keyboard.type("unexpl");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/reason=unexplained/);
  await expect(rows).toHaveText([/unexplained/]);
  await expect(page.getByTestId("session-count")).toHaveText("1 session");
  await expect(chips).toContainText("Fell by unexplained");

  await page.getByRole("button", { name: "Remove filter Fell by" }).click();
  await expect(rows).toHaveCount(3);
  await filter.click();
  await page.getByRole("option", { name: /^(in force )?qwen3-coder$/ }).click();
  await expect(page).toHaveURL(/model=qwen3-coder/);
  await expect(rows).toHaveText([/calm/]);
  // Choosing the filter in force removes it.
  await filter.click();
  await page.getByRole("option", { name: /^(in force )?qwen3-coder$/ }).click();
  await expect(rows).toHaveCount(3);
  await page.goBack();
  await expect(rows).toHaveText([/calm/]);

  // Other pages link to these.
  for (const [query, names] of [
    ["reason=masked", [/masked/]],
    ["warned=1", [/unexplained/, /masked/]],
    ["status=live&model=qwen3-coder", [/calm/]],
    ["reason=cleared", []],
  ] as const) {
    await page.goto(`/sessions?harness=${harness}&sort=title&order=desc&${query}`);
    if (names.length === 0) await expect(page.getByTestId("empty")).toContainText("No matching sessions");
    else await expect(rows).toHaveText([...names]);
  }
});

test("every column sorts, and hidden columns stay hidden in this browser", async ({
  page,
  send,
  harness,
}) => {
  await send(sessions(harness));
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(3);
  const head = (name: string) => page.getByRole("columnheader", { name, exact: true });
  for (const [name, sort, first] of [
    ["Session", "title", /calm/],
    ["Turns", "turns", /calm/],
    ["Current", "context_tokens", /masked/],
    ["Boundaries", "boundaries", /masked|unexplained/],
    ["Peak", "peak_utilization", /unexplained/],
  ] as const) {
    await head(name).getByRole("button").click();
    await expect(page).toHaveURL(new RegExp(`sort=${sort}`));
    await expect(rows.first()).toContainText(first);
    await expect(head(name)).toHaveAttribute("aria-sort", /ascending|descending/);
  }

  await page.getByRole("button", { name: "Display" }).click();
  await page.getByRole("checkbox", { name: "Harness" }).click();
  await page.getByRole("checkbox", { name: "Model" }).click();
  await page.keyboard.press("Escape");
  await expect(head("Harness")).toHaveCount(0);
  await expect(head("Model")).toHaveCount(1);
  await page.reload();
  await expect(rows).toHaveCount(3);
  await expect(head("Harness")).toHaveCount(0);
  await expect(head("Model")).toHaveCount(1);
});

test("90 days and all time show sessions from long ago", async ({ page, send, harness }) => {
  for (const [session, days] of [
    ["two-months", 60],
    ["two-years", 730],
  ] as const)
    await send(
      new EventBuilder({ harness, session, window: 200_000, start: Date.now() - days * DAY })
        .turns(9_000)
        .take(),
    );
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("empty")).toBeVisible();
  const rows = page.getByTestId("session-row");
  await page.getByTestId("range").click();
  await page.getByRole("button", { name: "Last 90 days" }).click();
  await expect(rows).toHaveText([/two-months/]);
  await page.getByTestId("range").click();
  await page.getByRole("button", { name: "All time" }).click();
  await expect(page).toHaveURL(/range=all/);
  await expect(rows).toHaveText([/two-months/, /two-years/]);
  await page.reload();
  await expect(rows).toHaveText([/two-months/, /two-years/]);
  for (const path of ["/", "/setup"]) {
    await page.goto(`${path}?range=all&harness=${harness}`);
    await expect(
      page
        .getByTestId("range")
        .or(page.getByRole("heading", { name: "Setup" }))
        .first(),
    ).toBeVisible();
    await expect(page.locator("main").getByRole("alert")).toHaveCount(0);
  }
});

test.describe("saved views", () => {
  test.use({ lines: false });

  test("are saved, opened first, renamed, deleted and brought back", async ({ page, send, harness }) => {
    await send(sessions(harness));
    await page.goto("/sessions?reason=unexplained&sort=load");
    const rows = page.getByTestId("session-row");
    await expect(rows).toHaveCount(1);
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await page.getByRole("menuitem", { name: "Save as new view…" }).click();
    const dialog = page.getByRole("dialog", { name: "Save view" });
    await dialog.getByRole("textbox", { name: "Name" }).fill("Silent falls");
    await dialog.getByRole("checkbox", { name: "Open this view first" }).check();
    await dialog.getByRole("button", { name: "Save" }).click();
    const menu = page.getByRole("button", { name: "View: Silent falls", exact: true });
    await expect(menu).toBeVisible();

    // The default view opens at a plain address, and keeps the range that was chosen.
    await page.goto("/sessions?range=7d");
    await expect(page).toHaveURL(/reason=unexplained/);
    await expect(page).toHaveURL(/range=7d/);
    await expect(rows).toHaveCount(1);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await expect(rows).toHaveCount(3);
    await page.reload();
    await expect(rows).toHaveCount(3);

    await page.getByRole("button", { name: "Views", exact: true }).click();
    await page.getByRole("menuitem", { name: "Silent falls" }).click();
    await expect(rows).toHaveCount(1);
    await menu.click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    const rename = page.getByRole("dialog", { name: "Rename view" });
    await rename.getByRole("textbox", { name: "Name" }).fill("Unexplained");
    await rename.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "View: Unexplained", exact: true }).click();
    await page.getByRole("menuitem", { name: "Delete view" }).click();
    await expect(page.getByRole("button", { name: "Views", exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await expect(page.getByRole("menuitem", { name: "Unexplained" })).toBeVisible();
  });
});
