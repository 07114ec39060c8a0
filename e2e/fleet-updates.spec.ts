import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("the fleet moves by itself: levels, order, totals and new agents", async ({ page, send, harness }) => {
  const calm = new EventBuilder({ harness, session: "calm", window: 200_000 }).turns(8_000, 9_000, 10_000);
  const busy = new EventBuilder({ harness, session: "busy", window: 200_000 }).turns(
    18_000,
    20_000,
    22_000,
    24_000,
  );
  await send([...calm.take(), ...busy.take()]);

  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("busy");
  await expect(rows.first().getByTestId("load")).toContainText("60%");
  await expect(rows.first()).toContainText("8 turns");
  await expect(page.getByTestId("tile-load")).toContainText("60%");
  await live(page);
  // Lost with a reload.
  await page.evaluate(() => Object.assign(window, { stillHere: true }));

  calm.turn(39_000);
  await send(calm.take());
  await expect(rows.first()).toContainText("calm");
  await expect(rows.first().getByTestId("load")).toContainText("98%");
  await expect(rows.first().getByTestId("context-tokens")).toHaveAttribute("title", "39,000 tokens");
  await expect(rows.first()).toHaveAttribute("data-state", "warning");
  await expect(page.getByTestId("tile-load")).toContainText("98%");
  await expect(page.getByTestId("tile-warnings")).toContainText("1");

  calm.turn(44_000);
  await send(calm.take());
  await expect(rows.first()).toHaveAttribute("data-state", "over");
  await expect(rows.first()).toContainText("over the line");

  await send(new EventBuilder({ harness, session: "newcomer", window: 200_000 }).turn(4_000).take());
  await expect(rows).toHaveCount(3);
  await expect(rows.last()).toContainText("newcomer");

  await send(calm.mark("masked", { observations: 12, tokens_before: 44_000, tokens_after: 21_000 }).take());
  await expect(rows.filter({ hasText: "calm" })).toContainText("now about 21k");
  await send(calm.turn(21_000).take());
  await expect(rows.filter({ hasText: "calm" }).getByTestId("context-tokens")).toHaveText("21k");
  await expect(page.getByTestId("tile-masked")).toContainText("1");
  // Nothing was heard in the day before, so there is no change to tell.
  await expect(page.getByTestId("tile-masked")).toContainText("no trend");
  await expect(page.getByTestId("tile-restarts")).not.toContainText("no trend");
  await expect(page.getByTestId("reclaimed")).toHaveText("23k tokens reclaimed in all");
  // A peak is never lowered by what came after.
  await expect(page.getByTestId("tile-peak")).toContainText("22.0%");
  expect(await page.evaluate(() => "stillHere" in window)).toBe(true);
});

test("a session that says it ended leaves the fleet and stays among the sessions", async ({
  page,
  send,
  harness,
}) => {
  const story = new EventBuilder({ harness, session: "short-lived", window: 200_000 }).turn(9_000);
  await send(story.take());
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  await live(page);
  await send(story.mark("session", { status: "ended", reason: "done" }).take());
  await expect(page.getByTestId("nothing-live")).toContainText(`No agent is at work under ${harness}`);
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toContainText("ended");
});
