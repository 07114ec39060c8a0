import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;

test.beforeEach(async ({ send, harness }) => {
  const agent = new EventBuilder({
    harness,
    session: "charted",
    window: 200_000,
    start: Date.now() - 50 * MINUTE,
    pace: 2 * MINUTE,
  })
    .turns(10_000, 20_000, 30_000, 40_000)
    .event("restarted", { number: 2, previous_turns: 4, carryover_turns: 1, reason: "context" })
    .turns(6_000, 12_000, 18_000, 24_000)
    .event("masked", { observations: 3, tokens_before: 24_000, tokens_after: 9_000 })
    .turns(9_000, 15_000);
  await send(agent.take());
});

test("the charts share a crosshair, zoom the page by dragging, and lead to the sessions behind them", async ({
  page,
  harness,
}) => {
  await page.goto(`/?harness=${harness}&range=1h`);
  const region = (name: string) => page.getByRole("region", { name });
  const utilization = region("Context window utilization").locator(".recharts-wrapper");
  const falls = region("Boundaries over time");
  await expect(utilization).toBeVisible();

  await test.step("the crosshair of one chart is drawn in the other", async () => {
    const crosshair = falls.locator(".recharts-reference-line");
    await expect(falls.locator(".recharts-wrapper")).toBeVisible();
    await utilization.hover();
    await expect(crosshair).toHaveCount(1);
    await page.getByRole("heading", { level: 1 }).hover();
    await expect(crosshair).toHaveCount(0);
  });

  await test.step("dragging zooms the page, and going back returns", async () => {
    await utilization.scrollIntoViewIfNeeded();
    const box = (await utilization.boundingBox())!;
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.4, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y);
    await page.mouse.move(box.x + box.width * 0.8, y);
    await expect(utilization.locator(".recharts-reference-area")).toBeVisible();
    await page.mouse.up();
    await expect(page).toHaveURL(/range=[^&]+Z\.\.[^&]+Z/);
    await page.goBack();
    await expect(page).toHaveURL(/range=1h/);
  });

  await test.step("a click opens the sessions behind the bucket, of the reason that was clicked", async () => {
    const bar = falls.locator(".recharts-bar-rectangle path[d]").first();
    await expect(bar).toBeVisible();
    await bar.click();
    await expect(page).toHaveURL(/\/sessions\?range=[^&]+Z(\.\.|%2E%2E)[^&]+Z.*reason=/);
    await expect(page.getByTestId("session-row")).toContainText("charted");
    await page.goBack();
  });

  await test.step("tables of the charts lead to the sessions by keyboard, and restarts are listed", async () => {
    const row = region("Restarts by harness and model").getByRole("link", { name: new RegExp(harness) });
    await expect(row).toContainText("claude-opus-4-6");
    await expect(row).toHaveAttribute("href", /reason=restarted.*model=claude-opus-4-6/);
    await falls.getByRole("button", { name: "View as table" }).press("Enter");
    await falls.getByRole("row").nth(1).getByRole("link").press("Enter");
    await expect(page).toHaveURL(/\/sessions\?range=/);
    await expect(page.getByTestId("session-row")).toContainText("charted");
  });
});

test("a level above the window does not flatten the chart, and the chart says so", async ({
  page,
  send,
  harness,
}) => {
  await send(new EventBuilder({ harness, session: "wrong", window: 5_000 }).turns(20_000).take());
  await page.goto(`/?harness=${harness}&range=1h`);
  const chart = page.getByRole("region", { name: "Context window utilization" });
  await expect(chart.getByText("above 100%, left out")).toBeVisible();
  await expect(chart.getByTestId("outlier")).toContainText("400.0%");
  await expect(chart.locator(".recharts-yAxis")).not.toContainText("200%");
  expect(await violations(page)).toEqual([]);
});
