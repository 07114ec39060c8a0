import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const tooltip = (page: Page) => page.getByRole("tooltip");
const term = (scope: Page | Locator, name: string) =>
  scope.locator("[data-term]").filter({ hasText: new RegExp(`^${name}$`) });

/** Every boundary, and an agent that exceeds its window. */
function sample(harness: string) {
  return [
    ...new EventBuilder({ harness, session: "every boundary", window: 200_000 })
      .turns(30_000, 60_000)
      .event("masked", { observations: 3, tokens_before: 60_000, tokens_after: 40_000 })
      .turns(41_000, 80_000)
      .event("subtick", {
        loop: "l",
        tick: 1,
        sub: 1,
        tokens_before: 80_000,
        handoff_tokens: 900,
        visible: false,
        reason: "the ceiling",
      })
      .turns(9_000, 70_000)
      .event("restarted", { number: 2, previous_turns: 2, carryover_turns: 1, reason: "hard limit" })
      .turns(8_000, 90_000, 20_000)
      .take(),
    ...new EventBuilder({ harness, session: "wrong window", window: 20_000 }).turns(30_000).take(),
  ];
}

/** Shows the definition on focus and, on a touch screen, on tap. */
async function explains(page: Page, word: Locator, definition: RegExp): Promise<void> {
  await word.scrollIntoViewIfNeeded();
  // A focus that follows a click shows nothing, so use the keyboard first.
  await page.keyboard.press("Tab");
  await word.focus();
  await expect(tooltip(page)).toHaveText(definition);
  await page.keyboard.press("Escape");
  await expect(tooltip(page)).toHaveCount(0);
  await word.click();
  await expect(tooltip(page)).toHaveText(definition);
  await page.keyboard.press("Escape");
  await expect(tooltip(page)).toHaveCount(0);
}

test("each page explains its words where they first appear, on focus and on tap @phone", async ({
  page,
  send,
  harness,
  isMobile,
}) => {
  await send(sample(harness));

  await test.step("Fleet", async () => {
    await page.goto(`/?harness=${harness}`);
    await expect(page.getByTestId("fleet-row")).toHaveCount(2);
    await explains(page, term(page, "Level"), /drawn against the agent's own line/);
    // A phone has no room for the heads of the other columns.
    if (!isMobile) {
      await explains(page, term(page, "Load"), /as a share of the agent's line.*at which the harness acts/s);
      await explains(page, term(page, "Last 30 turns"), /An event that lowers/);
    }
    await explains(page, term(page, "window suspect").first(), /the size is probably wrong/);
    await explains(page, term(page, "Boundaries over time"), /An event that lowers/);
    await explains(page, term(page, "sub-tick"), /a fresh window with a handoff note/);
    await explains(page, term(page, "masked"), /old tool results with placeholders/);
    await explains(page, term(page, "restarted"), /carry-over/);
    await explains(page, term(page, "unexplained"), /no event says why/);
    expect(await violations(page)).toEqual([]);
  });

  await test.step("Session", async () => {
    await page
      .getByTestId("fleet-row")
      .filter({ hasText: "every boundary" })
      .locator("[data-row-link]")
      .click();
    const chart = page.getByRole("region", { name: "Context tokens of main" });
    await explains(page, term(chart, "unexplained"), /no event says why/);
    await explains(page, term(chart, "sub-tick"), /handoff note/);
    await page.getByTestId("tile-load").focus();
    await expect(tooltip(page)).toContainText("as a share of the agent's line");
    await page.keyboard.press("Escape");
    await chart.locator("[data-marker=restarted]").click();
    const card = page.getByTestId("fall-card");
    await explains(page, term(card, "Kept"), /what the next window keeps/);
    await expect(card).toBeVisible();
    expect(await violations(page, "[data-testid=fall-card]")).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(card).toHaveCount(0);
    expect(await violations(page)).toEqual([]);
  });

  await test.step("Alerts and Policies", async () => {
    await page.goto("/alerts");
    await explains(page, term(page, "load"), /as a share of the agent's line/);
    await explains(page, term(page, "line"), /at which the harness acts/);
    await explains(page, term(page, "boundaries"), /An event that lowers/);
    await page.goto("/policies");
    await explains(page, term(page, "lines"), /at which the harness acts/);
  });
});

test("a column of Sessions explains its word and sorts", async ({ page, send, harness }) => {
  await send(sample(harness));
  await page.goto(`/sessions?harness=${harness}`);
  const load = page.getByRole("columnheader", { name: "Load" }).getByRole("button");
  await load.hover();
  await expect(tooltip(page)).toContainText("as a share of the agent's line");
  await load.click();
  await expect(page).toHaveURL(/sort=load/);
  await expect(tooltip(page)).toContainText("as a share of the agent's line");
});

test("on a touch screen, tiles and cards have a place to tap for an explanation @phone-only", async ({
  page,
  send,
  harness,
}) => {
  await send(sample(harness));
  await page.goto(`/?harness=${harness}`);
  await page.getByRole("button", { name: "What is “Sub-tick boundaries”?" }).tap();
  await expect(tooltip(page)).toContainText("a fresh window with a handoff note");
  await expect(page).toHaveURL(/\/\?harness=/);
  await page.goto(`/sessions?harness=${harness}`);
  await term(page, "Boundaries").tap();
  await expect(tooltip(page)).toContainText("An event that lowers");
  expect(await violations(page)).toEqual([]);
});
