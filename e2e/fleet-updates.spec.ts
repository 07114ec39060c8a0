import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("the fleet updates levels, order, totals and agents without a reload", async ({
  page,
  send,
  harness,
}) => {
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
  await expect(page.getByTestId("tile-current")).toContainText("12.0%");
  await live(page);
  // A reload would clear this.
  await page.evaluate(() => Object.assign(window, { stillHere: true }));

  calm.turn(39_000);
  await send(calm.take());
  await expect(rows.first()).toContainText("calm");
  await expect(rows.first().getByTestId("load")).toContainText("98%");
  await expect(rows.first().getByTestId("context-tokens")).toHaveAttribute("title", "39,000 tokens");
  await expect(rows.first()).toHaveAttribute("data-state", "warning");
  await expect(page.getByTestId("tile-current")).toContainText("19.5%");
  await expect(page.getByTestId("tile-warnings")).toContainText("1");

  calm.turn(44_000);
  await send(calm.take());
  await expect(rows.first()).toHaveAttribute("data-state", "over");
  await expect(rows.first()).toContainText("to the window's end");

  await send(new EventBuilder({ harness, session: "newcomer", window: 200_000 }).turn(4_000).take());
  await expect(rows).toHaveCount(3);
  await expect(rows.last()).toContainText("newcomer");

  await send(calm.event("masked", { observations: 12, tokens_before: 44_000, tokens_after: 21_000 }).take());
  await expect(rows.filter({ hasText: "calm" })).toContainText("now about 21k");
  await send(calm.turn(21_000).take());
  await expect(rows.filter({ hasText: "calm" }).getByTestId("context-tokens")).toHaveText("21k");
  await expect(page.getByTestId("tile-masked")).toContainText("1");
  // The previous day has no data, so there is no change to show.
  await expect(page.getByRole("region", { name: "Key numbers" })).not.toContainText(/[+±]|no trend/);
  await expect(page.getByTestId("reclaimed")).toHaveText("23k tokens reclaimed");
  // Later falls do not lower the peak.
  await expect(page.getByTestId("tile-peak")).toContainText("22.0%");
  expect(await page.evaluate(() => "stillHere" in window)).toBe(true);
});

test("an ended session leaves the fleet and stays in the session list", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "short-lived", window: 200_000 }).turn(9_000);
  await send(agent.take());
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  await live(page);
  await send(agent.event("session", { status: "ended", reason: "done" }).take());
  await expect(page.getByTestId("nothing-live")).toContainText(`No live agents in ${harness}`);
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toContainText("ended");
});
