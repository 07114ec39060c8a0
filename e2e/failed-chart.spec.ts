import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

/** Fails every request for a chart until the returned function is called. */
async function failCharts(page: Page): Promise<() => void> {
  let failing = true;
  await page.route(/\/api\/trpc\/[^?]*\bseries\b/, (route) => (failing ? route.abort() : route.fallback()));
  // Without the live stream, nothing but the button loads a chart again.
  await page.route("**/api/v1/live*", () => {});
  return () => {
    failing = false;
  };
}

test("a chart that failed to load is loaded again by its button @phone", async ({
  page,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_FAILED/);
  const agent = new EventBuilder({ harness, session: "charted", window: 200_000 });
  await send(agent.turns(10_000, 20_000).event("masked", { observations: 3 }).turn(8_000).take());
  const succeed = await failCharts(page);
  // Every minute the range moves on, and the page loads the charts by itself.
  await page.clock.setFixedTime(Date.now());
  await page.goto(`/?harness=${harness}`);

  const utilization = page.getByRole("region", { name: "Context window utilization" });
  const boundaries = page.getByRole("region", { name: "Boundaries over time" });
  for (const chart of [utilization, boundaries])
    await expect(chart.getByRole("alert")).toContainText("Failed to load this chart");
  await utilization.getByRole("button", { name: "View as table" }).click();
  await expect(utilization.getByRole("alert")).toBeVisible();
  await utilization.getByRole("button", { name: "View as chart" }).click();
  expect(await violations(page)).toEqual([]);

  const again = utilization.getByRole("button", { name: "Try again" });
  await utilization.getByRole("button", { name: "View as table" }).focus();
  await page.keyboard.press("Tab");
  await expect(again).toBeFocused();
  succeed();
  await page.keyboard.press("Enter");
  await expect(utilization).toBeFocused();
  await expect(utilization.getByRole("alert")).toHaveCount(0);
  await expect(utilization.getByTestId("plot")).toBeVisible();
  // Each chart has its own button.
  await expect(boundaries.getByRole("alert")).toBeVisible();
  await boundaries.getByRole("button", { name: "Try again" }).click();
  await expect(boundaries.getByText("masked", { exact: true })).toBeVisible();
});
