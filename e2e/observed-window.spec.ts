import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("a window size that one session reports serves the others, and one click sets one for a new model", async ({
  page,
  send,
  harness,
}) => {
  const model = `house-model-of-${harness}-4`;
  const newer = `house-model-of-${harness}-5`;
  await send(
    new EventBuilder({ harness, session: "by telemetry", model }).turns(38_000, 39_000, 40_000).take(),
  );
  await page.goto(`/?harness=${harness}`);
  const notice = page.getByTestId("unknown-windows");
  await expect(notice).toContainText("Window unknown for 1 model, 100.0% of turns");
  await notice.getByText("Window unknown").click();
  await expect(notice.getByRole("link", { name: `Set the window of ${model} in Setup` })).toBeVisible();

  await send(
    new EventBuilder({ harness, session: "with a status line", model, window: 160_000 }).turns(20_000).take(),
  );
  const row = page.getByTestId("fleet-row").filter({ hasText: "by telemetry" });
  await page.reload();
  await expect(row.getByTestId("window-end")).toHaveText("160k");
  await expect(row.getByTestId("line")).toContainText("observed size");
  await expect(notice).toBeHidden();

  await send(new EventBuilder({ harness, session: "new", model: newer }).turns(30_000, 32_000).take());
  await page.reload();
  await expect(notice).toContainText("Window unknown for 1 model, 33.3% of turns");
  await notice.getByRole("button", { name: `Set the window of ${newer} to 160,000 tokens` }).click();
  const set = page.getByTestId("fleet-row").filter({ hasText: "new" });
  await expect(set.getByTestId("window-end")).toHaveText("160k");
  await expect(set.getByTestId("line")).toContainText("configured size");
  await expect(notice).toBeHidden();

  await row.getByRole("link", { name: "by telemetry" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("25.0% of 160k · observed");

  await page.goto("/setup#windows");
  await page.getByText("reported size").click();
  await expect(page.getByTestId("observed-windows")).toContainText(model);
});

test("a size from the catalog says so beside line and share", async ({ page, send, harness }) => {
  await send(new EventBuilder({ harness, session: "guessed", model: "gpt-5.2-chat" }).turns(32_000).take());
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row");
  await expect(row.getByTestId("window-end")).toHaveText("128k");
  await expect(row.getByTestId("line")).toContainText("catalog size");
  await row.getByRole("link", { name: "guessed" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("25.0% of 128k · catalog");
});
