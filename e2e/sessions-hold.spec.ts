import type { Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

const NAMES = ["alpha", "beta", "gamma", "delta"];

function agents(harness: string) {
  return NAMES.map(
    (session, index) =>
      new EventBuilder({ harness, session, window: 200_000, start: Date.now() - (20 + index) * 60_000 }),
  );
}

const shownNames = async (page: Page) =>
  (await page.getByTestId("session-row").locator("[data-row-link]").allTextContents()).map((text) =>
    text.trim(),
  );

test("the list keeps its order under the pointer and offers the updates", async ({ page, send, harness }) => {
  for (const agent of agents(harness)) await send(agent.turns(9_000, 10_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toHaveCount(4);
  await live(page);
  expect(await shownNames(page)).toEqual(NAMES);
  const row = (name: string) => page.getByTestId("session-row").filter({ hasText: name });

  await row("beta").hover();
  const fresh = { harness, window: 200_000 };
  await send(
    new EventBuilder({ ...fresh, session: "delta" }).turn(33_000, { id: "newest", at: Date.now() }).take(),
  );
  // The row has its new values where it is.
  await expect(row("delta")).toContainText("33k");
  expect(await shownNames(page)).toEqual(NAMES);
  const updates = page.getByTestId("show-updates");
  await expect(updates).toHaveText("1 update");
  await send(new EventBuilder({ ...fresh, session: "epsilon" }).turn(5_000).take());
  await expect(updates).toHaveText("2 updates");
  expect(await shownNames(page)).toEqual(NAMES);

  await updates.click();
  await expect(updates).toHaveCount(0);
  expect(await shownNames(page)).toEqual(["delta", "epsilon", "alpha", "beta", "gamma"]);

  // Outside the list, the order follows the events again.
  await page.getByRole("heading", { level: 1 }).hover();
  await page.getByRole("searchbox").focus();
  await send(
    new EventBuilder({ ...fresh, session: "gamma" }).turn(6_000, { id: "newest", at: Date.now() }).take(),
  );
  await expect.poll(() => shownNames(page)).toEqual(["gamma", "delta", "epsilon", "alpha", "beta"]);
});

test("keyboard focus stays on its row while sessions move, come and go", async ({ page, send, harness }) => {
  for (const agent of agents(harness)) await send(agent.turns(9_000, 10_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toHaveCount(4);
  await live(page);
  const link = (name: string) => page.getByTestId("session-row").getByRole("link", { name });
  await link("gamma").focus();
  for (let round = 1; round <= 6; round += 1) {
    const session = round % 2 === 0 ? `new-${round}` : NAMES[round % 4]!;
    const level = 20_000 + round * 1_000;
    await send(
      new EventBuilder({ harness, session, window: 200_000 })
        .turn(level, { id: `late-${round}`, at: Date.now() })
        .take(),
    );
    await expect(page.getByTestId("show-updates")).toBeVisible();
    await expect(link("gamma")).toBeFocused();
  }
  await page.keyboard.press("j");
  await expect(link("delta")).toBeFocused();

  // The last round has arrived: updates after the click would bring the button back.
  await expect(page.getByTestId("session-count")).toHaveText("7 sessions");
  // The button goes away once it is used, and the focus goes to the first row.
  await page.getByTestId("show-updates").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("show-updates")).toHaveCount(0);
  await expect(page.locator("[data-row-link]").first()).toBeFocused();
});
