import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

/** Prefetched queries are keyed by minute, so a browser clock that is ahead must not invalidate them. */
for (const ahead of [0, 5]) {
  test(`pages show prefetched numbers if the browser clock is ${ahead} minutes ahead`, async ({
    page,
    send,
    harness,
  }) => {
    await send(new EventBuilder({ harness, session: "known", window: 200_000 }).turn(9_000).take());
    if (ahead > 0) await page.clock.setFixedTime(Date.now() + ahead * 60_000);
    // Requests of the page get no response.
    await page.route("**/api/trpc/**", () => {});
    /** A busy machine may answer after the time that a page waits for its numbers. */
    const shows = async (path: string, numbers: () => Promise<void>) =>
      expect(async () => {
        await page.goto(path);
        await numbers();
      }).toPass();
    const shown = { timeout: 2_000 };
    await shows("/setup", async () => {
      await expect(page.getByTestId("first-event")).toHaveText("Events are arriving", shown);
      await expect(page.getByTestId("keys")).toContainText("tests", shown);
      await expect(page.getByTestId("ingest-counts")).toContainText(/turns? stored/, shown);
      await expect(page.locator("main .skeleton:not([class*='rounded-full'])")).toHaveCount(0, shown);
    });
    await shows("/policies", async () => {
      await expect(page.getByTestId("load-line")).toContainText("15.0%", shown);
      await expect(page.getByTestId("versions")).toContainText("the lines of tests", shown);
    });
    await shows(`/?harness=${harness}`, async () => {
      await expect(page.getByTestId("tile-current")).toContainText("4.5%", shown);
      await expect(page.getByTestId("fleet-row")).toHaveCount(1, shown);
    });
    await shows(`/sessions?harness=${harness}`, () =>
      expect(page.getByTestId("session-row")).toHaveCount(1, shown),
    );
  });
}

test("a link that was followed pulses until its page comes", async ({ page, send, harness }) => {
  await send(new EventBuilder({ harness, session: "slow", window: 200_000 }).turn(9_000).take());
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row").locator("[data-row-link]");
  await expect(row).toBeVisible();
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/[?&]_rsc=/, async (route) => {
    await held;
    await route.continue();
  });
  for (const link of [page.getByRole("link", { name: "Insights" }), row]) {
    await link.click();
    await expect(link).toHaveCSS("animation-name", "skeleton");
  }
  answer();
  await expect(page).toHaveURL(/\/sessions\//);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("slow");
});
