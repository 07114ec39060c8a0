import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ lines: false });

test("Setup counts one event and one model in the singular", async ({ page, send, harness }) => {
  const of = (model: string) => new EventBuilder({ harness, session: model, model });
  await send(of("house-7b").turn(9_000).take());
  await page.goto("/setup");
  await expect(page.getByTestId("ingest-counts")).toContainText("turn stored");
  await expect(page.getByText("Model without a size")).toBeVisible();
  await send(of("house-8b").turn(9_000).take());
  await page.reload();
  await expect(page.getByTestId("ingest-counts")).toContainText("turns stored");
  await expect(page.getByText("Models without a size")).toBeVisible();
});
