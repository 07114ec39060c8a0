import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;

test("days without a price, the budget's line across all days, and a server that is away @phone", async ({
  page,
  send,
  harness,
  server,
  expectedErrors,
}) => {
  const DAY = 24 * 60 * MINUTE;
  const costs = [{}, { cost_usd: 0.25 }, { cost_usd: 1_234.5 }];
  for (const [day, cost] of costs.entries()) {
    const start = Date.now() - (3 - day) * DAY;
    const agent = { harness, session: `day ${day}`, model: "a-model-of-mine", start };
    await send(new EventBuilder(agent).turn(1_000, cost).take());
  }
  await server.mutate("spending.setBudget", { usd: 20 });
  await page.goto(`/insights?harness=${harness}&range=30d`);
  const panel = page.getByRole("region", { name: "Cost by day" });
  await expect(panel.getByTestId("spending-total")).toHaveText(
    /^\$1,234\.75 in [45] days · 1 day over the budget of \$20\.00 · 1 turn without a price$/,
  );
  const days = panel.getByTestId("spending-day");
  const texts = await days.allTextContents();
  // Today has no turns, and is two days if midnight passes.
  expect(texts.map((text) => /[^\d]*\$.*|—$/.exec(text.replace(/^.* 20\d\d/, ""))?.[0]).slice(-4)).toEqual([
    "$0.00",
    "$1,234.50 over",
    "$0.25",
    "—",
  ]);
  const lines = await days.evaluateAll((rows) =>
    rows.map((row) => row.querySelector("[data-budget]")!.getBoundingClientRect().x),
  );
  expect(new Set(lines).size, "places of the budget's line").toBe(1);
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);

  expectedErrors.push(/net::ERR_/);
  await page.route(/spending\.setBudget/, (route) => route.abort());
  await panel.getByLabel("Budget, US dollars a day").fill("30");
  await panel.getByRole("button", { name: "Save budget" }).click();
  await expect(panel.getByRole("alert")).toHaveText(
    "The budget was not saved: The server did not respond. Check that it is running, then try again.",
  );
  await page.unroute(/spending\.setBudget/);
  await panel.getByRole("button", { name: "Save budget" }).click();
  await expect(panel.getByTestId("spending-total")).toContainText("over the budget of $30.00");
});

test("what calls cost by day, how much of it is estimated, and a budget @phone", async ({
  page,
  send,
  harness,
}) => {
  await page.goto(`/insights?harness=${harness}`);
  const panel = page.getByRole("region", { name: "Cost by day" });
  const total = panel.getByTestId("spending-total");
  await expect(total).toHaveText("No turns in this range");
  await expect(panel.getByTestId("spending-day")).toHaveCount(0);

  const agent = new EventBuilder({
    harness,
    session: "spending",
    window: 200_000,
    start: Date.now() - 3 * MINUTE,
    pace: 1_000,
  });
  const usage = { input_tokens: 100_000, output_tokens: 10_000 };
  await send(
    agent
      .turn(100_000, { cost_usd: 1.25 })
      .turn(100_000, { model: "claude-opus-4-6", usage })
      .turn(100_000, { model: "a-model-of-mine", usage })
      .take(),
  );
  await expect(total).toHaveText(
    /^~\$2\.00 in \d days? · \$0\.75 of it estimated at list prices · 1 turn without a price$/,
  );
  const today = panel.getByTestId("spending-day").first();
  await expect(today).toHaveText(/~\$2\.00$/);
  await expect(today).toHaveAttribute("title", "3 turns, $1.25 reported, $0.75 estimated, 1 without a price");

  const budget = panel.getByLabel("Budget, US dollars a day");
  await budget.fill("much");
  await expect(panel.getByRole("alert")).toContainText("such as 20");
  await expect(panel.getByRole("button", { name: "Save budget" })).toBeDisabled();
  await budget.fill("1.50");
  await panel.getByRole("button", { name: "Save budget" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(total).not.toContainText("budget");
  await expect(budget).toHaveValue("");
  await budget.fill("1.50");
  await panel.getByRole("button", { name: "Save budget" }).click();
  await expect(total).toContainText("1 day over the budget of $1.50");
  await expect(today).toHaveText(/~\$2\.00 over$/);
  expect(await violations(page)).toEqual([]);
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    const path = test.info().outputPath(`spending-${colorScheme}.png`);
    await panel.screenshot({ path, animations: "disabled" });
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);

  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "spending" }).first().click();
  await expect(page.getByTestId("tile-cost")).toContainText("~$2.002 of 3 turns");
});
