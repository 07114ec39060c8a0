import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ timezoneId: "Europe/Berlin" });

const MODEL = "registry.internal.example/team/qwen3-coder-480b-a35b-instruct-fp8-2026-10-31-experimental";

async function fits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0);
}

/** Before a browser whose clock is ahead took over, the minute of its questions was not the one of the answers. */
for (const ahead of [0, 5]) {
  test(`pages arrive with their numbers, before anything else is asked, ${ahead} minutes ahead of the server`, async ({
    page,
    send,
    harness,
  }) => {
    await send(new EventBuilder({ harness, session: "known", window: 200_000 }).turn(9_000).take());
    if (ahead > 0) await page.clock.setFixedTime(Date.now() + ahead * 60_000);
    // Nothing that the pages ask for is answered.
    await page.route("**/api/trpc/**", () => {});
    await page.goto("/setup");
    await expect(page.getByTestId("first-event")).toHaveText("Events are arriving");
    await expect(page.getByTestId("keys")).toContainText("stories");
    await expect(page.getByTestId("ingest-counts")).toContainText("turns stored");
    await expect(page.getByRole("region", { name: "Thresholds in force" })).toContainText("15%");
    await expect(page.locator("main .skeleton")).toHaveCount(0);
    await page.goto(`/?harness=${harness}`);
    await expect(page.getByTestId("tile-load")).toContainText("23%");
    await expect(page.getByTestId("fleet-row")).toHaveCount(1);
    await page.goto(`/sessions?harness=${harness}`);
    await expect(page.getByTestId("session-row")).toHaveCount(1);
  });
}

test("the longest name of a model can be read whole in Setup @phone", async ({ page, send, harness }) => {
  await send(new EventBuilder({ harness, session: "long", model: MODEL }).turn(9_000).take());
  await page.goto("/setup");
  const whole = (name: string) =>
    page
      .getByText(name, { exact: true })
      .evaluate(
        (element) =>
          element.scrollWidth <= element.clientWidth && element.scrollHeight <= element.clientHeight,
      );
  const ask = page.getByRole("button", { name: `Set the size of ${MODEL}` });
  await expect(ask).toHaveText(MODEL);
  expect(await whole(MODEL)).toBe(true);
  await fits(page);
  await ask.click();
  await page.getByLabel("Tokens").fill("128k");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  const set = page.getByTestId("windows").getByText(MODEL);
  await expect(set).toBeVisible();
  await expect(ask).toHaveCount(0);
  expect(await whole(MODEL)).toBe(true);
  await fits(page);
  await page.getByRole("button", { name: `Remove the size of ${MODEL}` }).click();
  await expect(set).toHaveCount(0);
});

test("names of 120 letters stay inside what shows them @phone", async ({ page, send, server, harness }) => {
  const long = harness.padEnd(120, "h");
  const story = new EventBuilder({
    harness: long,
    session: "s".repeat(120),
    model: "m".repeat(120),
    window: 200_000,
  });
  await send(story.turn(9_000).take());
  const inside = (shown: Locator) =>
    expect
      .poll(() =>
        shown.evaluate((element) => {
          const { left, right } = element.getBoundingClientRect();
          return left >= 0 && right <= window.innerWidth && element.scrollWidth <= element.clientWidth;
        }),
      )
      .toBe(true);
  await page.goto("/");
  await page.getByRole("button", { name: "Harness: All harnesses" }).click();
  const choice = page.getByRole("menuitemradio", { name: long });
  await expect(choice).toBeVisible();
  await inside(page.getByRole("menu"));
  await choice.click();
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  await fits(page);

  await page.getByRole("button", { name: "Search" }).filter({ visible: true }).click();
  await page.getByPlaceholder("Search sessions, pages, ranges").fill(harness);
  const found = page.getByRole("option").filter({ hasText: long });
  await expect(found).toContainText("9k");
  await inside(found);
  await found.click();
  // The size of the window is told however long the model's name is.
  await expect(page.getByText("200k reported")).toBeInViewport({ ratio: 1 });
  await fits(page);

  await server.createKey("k".repeat(100), ["ingest"]);
  await page.goto("/setup");
  await page.getByRole("button", { name: /^Revoke k{100}$/ }).click();
  await inside(page.getByRole("dialog"));
  await page.getByRole("button", { name: "Keep it" }).click();
  await fits(page);
});

test("pointing at a row says exactly what it rounds", async ({ page, send, harness }) => {
  const story = new EventBuilder({ harness, session: "exactly", window: 200_000 }).turn(14_821);
  await send(story.take());
  const hint =
    /^exactly · .*\n14,821( of 200,000)? tokens\nlast turn \d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+[12]$/;
  await page.goto(`/?harness=${harness}`);
  await expect(page.locator("[data-row-link]")).toHaveAttribute("title", hint);
  await expect(page.getByTestId("zone")).toHaveText("times in Europe/Berlin");
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.locator("[data-row-link]")).toHaveAttribute("title", hint);
});

test("turns of another day say which day, in the zone of whoever looks", async ({ page, send, harness }) => {
  // Ten minutes before midnight in Berlin, and ten after.
  const start = Date.UTC(2026, 6, 8, 21, 50);
  const story = new EventBuilder({
    harness,
    session: "overnight",
    window: 200_000,
    start,
    pace: 20 * 60_000,
  });
  await send(story.turns(9_000, 12_000).take());
  await page.goto(`/sessions?harness=${harness}&range=2026-07-01T00:00:00Z..2026-07-31T00:00:00Z`);
  await page.locator("[data-row-link]").click();
  const log = page.getByRole("region", { name: "Turn log" });
  await expect(log.getByTestId("log-day")).toHaveText(["9 July 2026", "8 July 2026"]);
  await expect(log.getByTestId("log-turn").first()).toContainText("00:10:00");
  await expect(page.getByTestId("zone")).toHaveText("times in Europe/Berlin");
});
