import type { Page } from "@playwright/test";
import type { SessionDetail, SessionPage } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { withPhantom } from "./support/phantom.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const HARNESS = "phantom@demo";
/** Tokens that the example can grow by in one turn. */
const GROWTH = 4_000;

/** The levels at which the thread of the example went on in a fresh session. */
async function restarts(server: PlimsollServer): Promise<number[]> {
  const range = {
    from: new Date(Date.now() - 3_600_000).toISOString(),
    to: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const { items } = await server.query<SessionPage>("sessions.list", { ...range, q: "Slack thread" });
  if (items[0] === undefined) return [];
  const { boundaries } = await server.query<SessionDetail>("sessions.get", { id: items[0].id });
  return boundaries.filter(({ type }) => type === "restarted").map((boundary) => boundary.tokens_before!);
}

const row = (page: Page) =>
  page.getByTestId("policy-harnesses").getByRole("listitem").filter({ hasText: HARNESS });

async function saveCeiling(page: Page, percent: string): Promise<void> {
  await page.getByLabel("ceiling in percent").fill(percent);
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill(`a ceiling of ${percent}%`);
  await page.getByRole("dialog").getByRole("button", { name: "Save policy" }).click();
}

test("a running agent applies a line that is edited in the browser, and keeps it when it rejects the next one", async ({
  page,
  server,
}) => {
  // Its own ceiling is 40,000 tokens, and the new one 16,000. The thread may be above that when the line arrives.
  const isLow = (level: number) => level < 16_000 + GROWTH;
  await page.goto("/policies");
  await page.getByLabel("ceiling", { exact: true }).selectOption("percent");
  await withPhantom(server, async () => {
    await expect(row(page)).toBeVisible();
    await saveCeiling(page, "8");
    await expect(row(page)).toContainText("applied");
    await expect(row(page)).toContainText("generation 1");
    await expect.poll(async () => (await restarts(server)).some(isLow), { timeout: 90_000 }).toBe(true);

    await saveCeiling(page, "90");
    await expect(row(page)).toContainText("rejected: outside its own limits");
    await expect(row(page)).toContainText("thresholds.ceiling");
    await expect(row(page)).toContainText("runs generation 1 of 2");
    const levels = await restarts(server);
    expect(levels.slice(levels.findIndex(isLow)).filter((level) => !isLow(level))).toEqual([]);
  });
  await page.goto("/sessions");
  await page.getByRole("link", { name: "Slack thread" }).first().click();
  await expect(page.getByText("policy 1, acknowledged")).toBeVisible();
  await expect(page.getByText("ceiling 8%").first()).toBeVisible();
});
