import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("a level above the window size is shown unchanged and marks the window as suspect", async ({
  page,
  send,
  harness,
}) => {
  await send(
    new EventBuilder({ harness, session: "over-full", window: 2_000 })
      .turns(1_430, 2_704, 4_166, 5_115)
      .take(),
  );
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row");
  await expect(row.getByTestId("context-tokens")).toHaveAttribute("title", "5,115 tokens");
  await expect(row.getByTitle(/window of 2,000, 255\.8% used/)).toBeVisible();
  await expect(row).toContainText("window suspect");
  await expect(row).toHaveAttribute("data-state", "suspect");
  await expect(row.getByTestId("load")).toContainText("1,279%");
  // The level is drawn past the end of the window, and on the hull.
  const level = Number(await row.getByTestId("hull-level").getAttribute("data-at"));
  expect(level).toBeLessThan(1);
  const boxOf = async (name: string) => (await row.getByTestId(name).boundingBox())!;
  expect((await boxOf("hull-level")).x + (await boxOf("hull-level")).width).toBeGreaterThan(
    (await boxOf("window-end")).x,
  );
  // The peak is that of the turns within the window, to half a bin.
  await expect(page.getByTestId("tile-peak")).toContainText(/7[01]\.\d%/);
  await expect(page.getByTestId("suspects")).toContainText("5.1k of 2k (255.8%)");

  await row.getByRole("link", { name: "over-full" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("5.1k");
  await expect(page.getByTestId("tile-now")).toContainText("255.8% of 2k");
  await expect(page.getByTestId("tile-peak")).toContainText("255.8%, turn 4");
  await expect(page.getByRole("main").getByText("window suspect")).toBeVisible();
  await expect(page.getByTestId("log-turn").first()).toContainText("255.8%");
  const chart = page.getByRole("region", { name: "Context tokens of main" });
  await expect(chart.getByText("hard 90% · 1.8k")).toBeVisible();
  await expect(chart.getByTestId("saw-path")).toBeVisible();

  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toContainText("255.8%");
});
