import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ timezoneId: "Europe/Berlin" });

test("row tooltips show exact values", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "exactly", window: 200_000 }).turn(14_821);
  await send(agent.take());
  const hint =
    /^exactly · .*\n14,821( of 200,000)? tokens\nlast turn \d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+[12]$/;
  await page.goto(`/?harness=${harness}`);
  await expect(page.locator("[data-row-link]")).toHaveAttribute("title", hint);
  await expect(page.getByTestId("zone")).toHaveText("times in Central European Time");
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.locator("[data-row-link]")).toHaveAttribute("title", hint);
});

test("turns of past days have day headings in the viewer's time zone", async ({ page, send, harness }) => {
  // Ten minutes before midnight in Berlin, and ten after.
  const start = Date.UTC(2026, 6, 8, 21, 50);
  const agent = new EventBuilder({
    harness,
    session: "overnight",
    window: 200_000,
    start,
    pace: 20 * 60_000,
  });
  await send(agent.turns(9_000, 12_000).take());
  await page.goto(`/sessions?harness=${harness}&range=2026-07-01T00:00:00Z..2026-07-31T00:00:00Z`);
  await page.locator("[data-row-link]").click();
  const log = page.getByRole("region", { name: "Turn log" });
  await expect(log.getByTestId("log-day")).toHaveText(["9 July 2026", "8 July 2026"]);
  await expect(log.getByTestId("log-turn").first()).toContainText("00:10:00");
  await expect(page.getByTestId("zone")).toHaveText("times in Central European Time");
  const chart = page.getByRole("region", { name: "Context tokens of main" });
  await chart.getByRole("button", { name: "Time", exact: true }).click();
  await expect(chart.getByText(/^8 Jul (2026 )?23:50 – 9 Jul (2026 )?00:10$/)).toBeVisible();
  // The tick at midnight names the day.
  await expect(chart.getByText("9 Jul", { exact: true })).toBeVisible();
  await expect(chart.getByText("00:10", { exact: true })).toBeVisible();
});
