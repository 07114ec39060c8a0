import type { Page } from "@playwright/test";
import { COLLAPSED_ROWS } from "../components/fleet/visible-agents.ts";
import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { seedLargeFleet } from "./support/seed-fleet.ts";

const AGENTS = 60;

async function fits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0);
}

test("sixty agents with long names fit and are sorted by load @phone", async ({ page, send, harness }) => {
  await seedLargeFleet(send, harness, AGENTS);
  await page.goto(`/?harness=${harness}&sort=load`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(COLLAPSED_ROWS);
  await fits(page);
  await page.getByRole("button", { name: `Show all ${AGENTS}` }).click();
  await expect(rows).toHaveCount(AGENTS);
  await fits(page);
  const loads = await page
    .getByTestId("load")
    .evaluateAll((cells) => cells.map((cell) => Number.parseInt(cell.textContent ?? "", 10)));
  expect(loads).toEqual([...loads].sort((a, b) => b - a));
  // The URL keeps the choice.
  await expect(page).toHaveURL(/agents=all/);
  await page.reload();
  await expect(rows).toHaveCount(AGENTS);

  await page.goto(`/sessions?harness=${harness}&sort=load`);
  await expect(page.getByTestId("session-count")).toHaveText(`${AGENTS} sessions`);
  await fits(page);
  await page.goto(`/sessions?harness=${harness}&q=reconciliation`);
  await page.locator("[data-row-link]").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Investigate why");
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await fits(page);
});

test("a large fleet shows its charts on the first screen and expands by keyboard", async ({
  page,
  send,
  harness,
}) => {
  await seedLargeFleet(send, harness, AGENTS);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  const focused = page.locator("[data-agent]:focus-within");
  const chart = page.getByRole("region", { name: "Context window utilization" });
  await expect(rows).toHaveCount(COLLAPSED_ROWS);
  await expect(chart.getByRole("heading")).toBeInViewport();

  const all = page.getByRole("button", { name: `Show all ${AGENTS}` });
  await expect(all).toHaveAttribute("aria-expanded", "false");
  await all.focus();
  await page.keyboard.press("Enter");
  // Focus moves to the first new row.
  await expect(focused).toHaveAttribute(
    "data-agent",
    (await rows.nth(COLLAPSED_ROWS).getAttribute("data-agent"))!,
  );
  await page.keyboard.press("j");
  await expect(focused).toHaveAttribute(
    "data-agent",
    (await rows.nth(COLLAPSED_ROWS + 1).getAttribute("data-agent"))!,
  );

  const fewer = page.getByRole("button", { name: `Show top ${COLLAPSED_ROWS}` });
  await fewer.focus();
  await page.keyboard.press("Enter");
  await expect(rows).toHaveCount(COLLAPSED_ROWS);
  await expect(all).toBeFocused();
  await expect(all).toBeInViewport();
  await expect(page).not.toHaveURL(/agents=/);
});

test("rows stay in place while one has focus, the page says what is hidden, and moves them afterwards", async ({
  page,
  send,
  harness,
}) => {
  const agent = (name: string, level: number) =>
    new EventBuilder({ harness, session: name, window: 200_000 }).turns(level - 1_000, level);
  const others = Array.from({ length: 12 }, (_, index) => agent(`agent-${index}`, 30_000 - index * 1_000));
  await send(others.flatMap((other) => other.take()));
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(COLLAPSED_ROWS);
  await expect(page.getByTestId("fleet-hidden")).toHaveText(`${12 - COLLAPSED_ROWS} more`);
  await live(page);

  const idsOf = () => rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-agent")));
  const before = await idsOf();
  await rows
    .nth(COLLAPSED_ROWS - 1)
    .getByRole("link")
    .first()
    .focus();
  await send(others[11]!.turn(41_000).take());
  await expect(page.getByTestId("fleet-hidden")).toHaveText(`${12 - COLLAPSED_ROWS} more, 1 over their line`);
  await expect(page.getByText("order held")).toBeVisible();
  expect(await idsOf()).toEqual(before);
  await page.getByRole("heading", { level: 1 }).click();
  await expect(rows.first()).toContainText("agent-11");
  await expect(rows.first()).toHaveAttribute("data-state", "over");
  await expect(rows).toHaveCount(COLLAPSED_ROWS);
});
