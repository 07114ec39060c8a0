import { expect, live, test } from "./fixtures.ts";
import { changeAnswer } from "./support/change-answer.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("Fleet says how many events are still being processed @phone", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "behind", window: 200_000 }).turns(9_000);
  await send(agent.take());
  let behind: object | null = null;
  await changeAnswer(page, "status", (status) => Object.assign(status, { behind }));
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  const backlog = page.getByTestId("backlog");
  await expect(backlog).toBeEmpty();
  await live(page);
  const top = () => page.getByTestId("tile-current").evaluate((tile) => tile.getBoundingClientRect().top);
  const before = await top();
  behind = { events: 1_200, ms: 3_000 };
  await send(agent.turn(12_000).take());
  await expect(backlog).toHaveText("1,200 events are still being processed");
  // The notice moves nothing.
  expect(await top()).toBe(before);
  behind = null;
  await expect(backlog).toBeEmpty();
});

test("Setup says how many agents are still to be recomputed", async ({ page, send, harness }) => {
  const model = `small-model-of-${harness}`;
  await send(new EventBuilder({ harness, session: "resized", model }).turns(9_000).take());
  let recomputing = 1_200;
  await page.goto("/setup");
  const progress = page.getByTestId("recomputing");
  await expect(progress).toBeEmpty();
  await changeAnswer(page, "windows.list", (list) => Object.assign(list, { recomputing }));
  const form = page.locator("#windows");
  await form.getByRole("textbox", { name: "Model" }).fill(model);
  await form.getByRole("textbox", { name: "Tokens" }).fill("160k");
  await form.getByRole("button", { name: "Set size", exact: true }).click();
  await expect(progress).toHaveText("1,200 agents are still to be recomputed with the new size.");
  recomputing = 0;
  await expect(progress).toBeEmpty();
});
