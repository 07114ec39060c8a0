import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;

/** A reading of Claude's limit of five hours, whose window began two hours ago. */
const reading = (used_percent: number, more: Record<string, unknown> = {}) => ({
  ...{ type: "quota", id: `q-${crypto.randomUUID()}`, at: Date.now(), harness: "claude-code@laptop" },
  ...{ provider: "anthropic", limit: "five_hour", window_minutes: 300, used_percent },
  ...{ resets_at: Date.now() + 180 * MINUTE, machine: "laptop", ...more },
});
const WEEK = { limit: "seven_day", window_minutes: 10_080, resets_at: Date.now() + 3 * 1_440 * MINUTE };

/** An agent that is about to reach its line. */
const near = (harness: string) =>
  new EventBuilder({ harness, session: "billing", window: 200_000 })
    .event("session", { status: "started", title: "Refactor billing" })
    .turns(20_000, 22_000, 24_000, 26_000);

test("quotas are thin hulls below one sentence about the next agent and the next quota @phone", async ({
  page,
  send,
  harness,
}) => {
  const agent = near(harness);
  await send(agent.take());
  await page.goto("/");
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  // Nothing is shown where no quota is known.
  await expect(page.getByTestId("quotas")).toHaveCount(0);
  await live(page);
  await send([
    reading(80),
    reading(12, WEEK),
    reading(55, {
      provider: "openai",
      limit: "codex",
      window_minutes: 10_080,
      resets_at: Date.now() - 60 * MINUTE,
    }),
    ...agent.turn(28_000).take(),
  ]);
  const quotas = page.getByTestId("quotas").getByTestId("quota");
  await expect(quotas).toHaveCount(3, { timeout: 70_000 });
  await expect(quotas.nth(0)).toHaveText(/^Anthropic 5-hour80%used up in (29|30|31) min, resets in [34] h$/);
  await expect(quotas.nth(1)).toHaveText(/^Anthropic 7-day12%resets in [34] d$/);
  await expect(quotas.nth(2)).toHaveText(/^OpenAI 7-day55%reset at \d\d:\d\d, not read since$/);
  await expect(page.getByTestId("next")).toHaveText(
    /^Next: Refactor billing reaches its line in .*; the Anthropic 5-hour quota is used up in about (29|30|31) minutes$/,
  );
  expect(await violations(page)).toEqual([]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: test.info().outputPath(`quotas-${colorScheme}.png`) });
  }

  await send([reading(100)]);
  await page.reload();
  await expect(quotas.nth(0)).toHaveText(/^Anthropic 5-hour100%used up, resets in [34] h$/);
  await expect(page.getByTestId("next")).toHaveText(/; the Anthropic 5-hour quota is used up$/);
});

test("a session says when its cache goes cold, and that it is a good time to compact @phone", async ({
  page,
  send,
  harness,
}) => {
  const agent = new EventBuilder({
    harness,
    session: "cached",
    window: 200_000,
    start: Date.now() - 20 * MINUTE,
  });
  await send(agent.turns(28_000, 29_000, 30_000).take());
  await page.goto("/");
  const row = page.getByTestId("fleet-row").first();
  await expect(row.getByTestId("cache-note")).toHaveText("cache cold");
  await expect(row.getByTestId("cache-note")).toHaveAttribute(
    "title",
    /^compact now: the cache is cold anyway/,
  );
  await page.screenshot({ path: test.info().outputPath("cache-on-fleet.png") });
  await row.getByRole("link").first().click();
  const cache = page.getByTestId("cache-life");
  await expect(cache).toHaveText("compact now: the cache is cold anyway");
  await page.screenshot({ path: test.info().outputPath("cache.png") });
  await live(page);
  await send([{ ...agent.turn(31_000).take()[0]!, at: Date.now() }]);
  // The cache has outlived the pause of a quarter of an hour.
  await expect(cache).toHaveText(/^cache cold in \d+ min$/);
});

test("many quotas show those that end first, with their owners, and long names stay inside @phone", async ({
  page,
  send,
  harness,
}) => {
  const accounts = Array.from({ length: 6 }, (_, n) => reading(10 * n, { account: `${n}a`.repeat(16) }));
  await send([
    ...near(harness).take(),
    ...accounts,
    reading(97, {
      limit: `${"limit_of_a_plan_".repeat(3)}x`,
      provider: "a-provider-with-a-name",
      window_minutes: 217,
    }),
  ]);
  await page.goto("/");
  const quotas = page.getByTestId("quotas").getByTestId("quota");
  await expect(quotas).toHaveCount(4);
  await expect(quotas.nth(0)).toContainText("97%");
  await expect(quotas.nth(1)).toContainText("Anthropic 5-hour · account 5a5a5a50%");
  await page.getByRole("button", { name: "Show 3 more" }).click();
  await expect(quotas).toHaveCount(7);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await page.screenshot({ path: test.info().outputPath("many.png") });
  await page.getByRole("button", { name: "Show first 4" }).click();
  await expect(quotas).toHaveCount(4);
});
