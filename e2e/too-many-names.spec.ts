import { expect, test } from "./fixtures.ts";

const NAMES = 620;

test.use({ lines: false });

test("Setup warns of too many names, and the totals stay exact", async ({ page, send }) => {
  const at = Date.now() - 60_000;
  await page.goto("/setup");
  await expect(page.locator("#ingestion")).toBeVisible();
  await expect(page.getByTestId("too-many-names")).toHaveCount(0);
  await send(
    Array.from({ length: NAMES }, (_, n) => ({
      type: "turn",
      id: "t",
      at,
      harness: `run ${n}`,
      session: "s",
      model: `model ${n}`,
      usage: { input_tokens: 1_000 },
    })),
  );
  await page.reload();
  await expect(page.getByTestId("too-many-names")).toContainText("more than 500 names");
  await expect(page.getByTestId("too-many-names")).toContainText("Charts count 120 turns as “other”");
  await expect(page.getByTestId("ingest-counts")).toContainText("620");
  await expect(page.locator("#windows")).toContainText("and 451 more");
});
