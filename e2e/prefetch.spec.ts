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
