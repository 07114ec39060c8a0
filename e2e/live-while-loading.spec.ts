import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("a turn that arrives while a page is loading appears on that page", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "in-between", window: 200_000 }).turns(10_000, 12_000);
  await send(agent.take());
  await page.goto(`/?harness=${harness}`);
  await live(page);

  // Delay the rendered session page, whose numbers the server has already read.
  let rendered = () => {};
  let release = () => {};
  const isRendered = new Promise<void>((resolve) => {
    rendered = resolve;
  });
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/\/sessions\/[^?]+\?.*_rsc=/, async (route) => {
    if ("next-router-prefetch" in route.request().headers()) return route.fallback();
    const response = await route.fetch();
    rendered();
    await isReleased;
    await route.fulfill({ response });
  });
  const row = page.getByTestId("fleet-row");
  await row.getByRole("link", { name: "in-between" }).click();
  await isRendered;
  await send(agent.turn(19_000).take());
  await expect(row.getByTestId("context-tokens")).toHaveText("19k");
  release();
  await expect(page.getByTestId("tile-now")).toContainText("19k");
});
