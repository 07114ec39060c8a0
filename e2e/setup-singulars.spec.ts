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

test("Setup lists its tasks, and each link leads to its own @phone", async ({ page }) => {
  await page.goto("/setup");
  const contents = page.getByRole("navigation", { name: "On this page" }).getByRole("link");
  await expect(contents).toHaveText(["Connect", "Windows", "Keys and people", "Data", "Health", "About"]);
  for (const name of ["Data", "Connect", "Health"]) {
    await contents.filter({ hasText: name }).click();
    await expect(page.getByRole("heading", { name, exact: true, level: 2 })).toBeInViewport();
  }
  const within = (task: string) => page.getByRole("region", { name: task, exact: true });
  await expect(within("Data").getByTestId("disk-use")).toBeVisible();
  await expect(within("Keys and people").getByRole("heading", { name: "Keys", exact: true })).toBeVisible();
  await expect(within("About").getByTestId("about")).toContainText(/^Plimsoll \d/);
});
