import type { WholePolicy } from "@plimsoll/protocol/api";
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
  const utilization = region("Context window utilization").getByTestId("plot");
  const falls = region("Boundaries over time");
  await expect(utilization).toBeVisible();

  await test.step("the crosshair of one chart is drawn in the other", async () => {
    const crosshair = falls.locator(".chart-crosshair");
    await expect(falls.getByTestId("plot")).toBeVisible();
    await utilization.hover();
    await expect(crosshair).toHaveCount(1);
    await page.getByRole("heading", { level: 1 }).hover();
    await expect(crosshair).toHaveCount(0);
  });

  await test.step("with the focus on a chart, arrow keys move between its buckets", async () => {
    await utilization.focus();
    await page.keyboard.press("ArrowLeft");
    const last = await utilization.getAttribute("aria-valuetext");
    expect(last).toMatch(/^\d{4}-.*, peak /);
    await page.keyboard.press("ArrowLeft");
    await expect(utilization).not.toHaveAttribute("aria-valuetext", last!);
    await expect(falls.locator(".chart-crosshair")).toHaveCount(1);
    await page.keyboard.press("Tab");
    await expect(falls.locator(".chart-crosshair")).toHaveCount(0);
  });

  await test.step("dragging zooms the page, and going back returns", async () => {
    await utilization.scrollIntoViewIfNeeded();
    const box = (await utilization.boundingBox())!;
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.4, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y);
    await page.mouse.move(box.x + box.width * 0.8, y);
    await expect(region("Context window utilization").locator(".chart-selection")).toBeVisible();
    await page.mouse.up();
    await expect(page).toHaveURL(/range=[^&]+Z\.\.[^&]+Z/);
    await page.goBack();
    await expect(page).toHaveURL(/range=1h/);
  });

  await test.step("a click opens the sessions behind the bucket, of the reason that was clicked", async () => {
    const bar = falls.getByTestId("bar").first();
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
  await expect(chart.getByTestId("level-label").filter({ hasText: "200%" })).toHaveCount(0);
  await expect(chart.getByTestId("level-label").first()).toHaveText("0%");
  expect(await violations(page)).toEqual([]);
});

test("a bar beyond the axis shows the shares and the counts of its parts", async ({
  page,
  send,
  harness,
}) => {
  const boundaries = (session: string, minutesAgo: number, counts: Record<string, number>) => {
    const agent = new EventBuilder({
      harness,
      session,
      window: 200_000,
      // At the start of a bar, so that none ends among the boundaries.
      start: Math.floor((Date.now() - minutesAgo * MINUTE) / (2 * MINUTE)) * 2 * MINUTE,
      pace: 100,
    });
    for (const [type, count] of Object.entries(counts))
      for (let n = 0; n < count; n += 1)
        agent.event(type, { observations: 1, trigger: "auto", tokens_before: 9_000, tokens_after: 8_000 });
    return agent.take();
  };
  await send([
    ...Array.from({ length: 12 }, (_, n) => boundaries(`calm-${n}`, 56 - n * 4, { masked: 1 })).flat(),
    ...boundaries("busy", 6, { masked: 20, cleared: 60 }),
  ]);
  await page.goto(`/?harness=${harness}&range=1h`);
  const falls = page.getByRole("region", { name: "Boundaries over time" });
  const capped = falls.getByTestId("outlier");
  await expect(capped).toContainText(/^8\d/);
  await expect(capped).toContainText("60");
  // In the bar, each part is as high as its share, whatever stands at the bottom.
  const heights = await falls
    .getByTestId("bar")
    .evaluateAll((bars) =>
      (bars as SVGRectElement[])
        .toSorted((a, b) => a.getBBox().x - b.getBBox().x)
        .map((bar) => [bar.dataset.group!, bar.getBBox().height] as const),
    );
  // The latest bar of each group.
  const heightOf = Object.fromEntries(heights);
  expect(heightOf.cleared! / heightOf.masked!).toBeCloseTo(3, 0);
  expect(heightOf.cleared!).toBeGreaterThan(90);
  expect(await violations(page)).toEqual([]);
});

test("the charts of a young project begin with its first event, and say so", async ({ page, harness }) => {
  await page.goto(`/?harness=${harness}`);
  const chart = page.getByRole("region", { name: "Context window utilization" });
  await expect(chart.getByTestId("data-since")).toContainText("from the first event");
  // Levels over most of the width, not a sliver at its end. Each is alone in its bucket.
  const dots = chart.locator('circle[r="2.5"]');
  await expect(dots.first()).toBeVisible();
  const places = await dots.evaluateAll((circles) =>
    circles.map((circle) => circle.getBoundingClientRect().x),
  );
  const plot = (await chart.getByTestId("plot").boundingBox())!;
  expect(Math.max(...places) - Math.min(...places)).toBeGreaterThan(plot.width * 0.3);
  await page.goto(`/?harness=${harness}&range=1h`);
  await expect(chart.getByTestId("plot")).toBeVisible();
  await expect(chart.getByTestId("data-since")).toHaveCount(0);
});

test("a policy is a mark on each chart, with before and after at a click", async ({
  page,
  server,
  send,
  harness,
}) => {
  const { generation } = await server.query<WholePolicy>("policies.get");
  await server.mutate("policies.save", {
    policy: { settings: { thresholds: { warning: "12%" } } },
    expected: generation,
    reason: "earlier warning",
  });
  await send(
    new EventBuilder({ harness, session: "after", window: 200_000, start: Date.now() + 500, pace: 100 })
      .turns(...Array.from({ length: 60 }, (_, n) => 10_000 + n))
      .take(),
  );
  await page.goto(`/?harness=${harness}&range=1h`);
  const name = new RegExp(`v${generation + 1}`);
  for (const title of ["Context window utilization", "Boundaries over time"]) {
    const chart = page.getByRole("region", { name: title });
    const mark = chart.getByRole("button", { name });
    await expect(mark).toHaveAttribute("aria-pressed", "false");
    await expect(chart.locator(".chart-mark").first()).toBeAttached();
  }
  const chart = page.getByRole("region", { name: "Context window utilization" });
  await chart.getByRole("button", { name }).press("Enter");
  const comparison = page.getByTestId("before-after");
  await expect(comparison).toContainText(name);
  await expect(comparison).toContainText(/before and after: \d+ turns? and \d+ turns?/);
  expect(await violations(page)).toEqual([]);
  await comparison.getByRole("button", { name: "Close the comparison" }).click();
  await expect(comparison).toHaveCount(0);
});

test("nothing is said about a range until the server has answered", async ({ page, harness }) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/\/api\/trpc\/[^?]*\b(series|sessions\.list)\b/, async (route) => {
    await released;
    await route.fallback();
  });
  await page.goto(`/?harness=${harness}&range=1h`);
  const charts = page.getByRole("main");
  await expect(charts.getByText("Loading.", { exact: true })).toHaveCount(2);
  await expect(charts).not.toContainText(/No (turn|boundaries|sessions)/);
  release();
  await expect(charts.getByText(/^Peak utilization over time, \d+ points?\./)).toBeAttached();
});
