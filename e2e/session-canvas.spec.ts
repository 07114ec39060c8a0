import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { manyFalls, parallelAgents } from "./support/session-shapes.ts";

async function open(page: Page, harness: string, name: string): Promise<void> {
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name }).click();
  await expect(page.getByTestId("saw-path")).toBeVisible();
}

const chartOf = (page: Page) => page.getByRole("region", { name: "Context tokens of main" });

test("a fall opens a card with what happened, who says so, and a link to its turn", async ({
  page,
  send,
}) => {
  const harness = `claude-code@card-${test.info().testId}`;
  const agent = new EventBuilder({ harness, session: "cards", window: 200_000 })
    .turns(30_000, 60_000, 90_000)
    .event("compacted", { trigger: "auto", tokens_before: 90_000, tokens_after: 20_000, sections: 4 })
    .turns(22_000, 80_000, 30_000, 32_000);
  await send(agent.take());
  await open(page, harness, "cards");
  const chart = chartOf(page);
  const card = page.getByTestId("fall-card");

  await chart.locator("[data-marker=compacted]").click();
  await expect(card).toContainText("90,000 (45.0%) to 20,000 (10.0%), −70,000 tokens");
  await expect(card).toContainText(`${harness}, with both levels.`);
  await expect(card).toContainText("A summary of the older messages, in 4 sections.");
  await expect(card).not.toContainText("Usual causes");
  await expect(page).toHaveURL(/fall=/);

  // By keyboard, from one fall to the next. Escape gives the focus back.
  await page.keyboard.press("Escape");
  await expect(card).toHaveCount(0);
  await expect(chart.locator("[data-marker=compacted]")).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect(card).toContainText("Plimsoll, from two consecutive turns. The harness reported no event.");
  await expect(card.getByRole("listitem").first()).toContainText("Claude Code cleared old tool results");
  expect(await violations(page), "with a card").toEqual([]);

  // The card is in the link, and leads to the turn.
  await page.reload();
  await expect(card).toContainText("Usual causes");
  await card.getByRole("button", { name: "After: turn 6" }).click();
  await expect(page.getByRole("region", { name: "Turn log" }).locator("[aria-current=true]")).toContainText(
    "30,000",
  );
  await expect(card).toHaveCount(0);
  await expect(page.getByTestId("saw-linked-turn")).toHaveAttribute("data-turn", "6");

  // The log opens the same card.
  await page.getByRole("button", { name: "Compacted (auto): 90,000 to 20,000" }).last().click();
  await expect(card).toContainText("A summary of the older messages");
});

test("unexplained falls are the largest marks, and a crowd of others does not shrink them", async ({
  page,
  send,
  harness,
}) => {
  await send(manyFalls(harness).take());
  await open(page, harness, "1000 turns with 200 falls");
  const chart = chartOf(page);
  await expect(chart.locator("[data-marker]")).toHaveCount(200);
  const widths = (type: string) =>
    chart
      .locator(`[data-marker=${type}] [data-shape]`)
      .evaluateAll((shapes) => shapes.map((shape) => shape.getBoundingClientRect().width));
  const unexplained = await widths("unexplained");
  expect(unexplained).toHaveLength(40);
  for (const type of ["masked", "compacted", "subtick", "restarted"])
    expect(Math.max(...(await widths(type))), type).toBeLessThan(Math.min(...unexplained));

  // The brush zooms, the URL holds the zoom, and Escape on a handle ends it.
  const overview = page.getByTestId("saw-overview");
  const box = (await overview.boundingBox())!;
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.4, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.45, y, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/zoom=\d+-\d+/);
  await expect(chart.getByText(/^turns \d+ to \d+ of 1,000$/)).toBeVisible();
  expect(await chart.locator("[data-marker]").count()).toBeLessThan(40);
  await page.reload();
  await expect(chart.getByText(/^turns \d+ to \d+ of 1,000$/)).toBeVisible();
  const first = overview.getByRole("slider", { name: "First turn shown" });
  const before = Number(await first.getAttribute("aria-valuenow"));
  await first.focus();
  await page.keyboard.press("ArrowLeft");
  await expect(first).toHaveAttribute("aria-valuenow", String(before - 20));
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/zoom=/);
  await expect(chart.locator("[data-marker]")).toHaveCount(200);
  expect(await violations(page), "many falls").toEqual([]);
});

test("chart, composition and log share one cursor", async ({ page, send, harness }) => {
  const parts = (tool_output: number) => ({
    system: 2_000,
    tools: 3_000,
    memory: null,
    history: 1_000,
    tool_output,
  });
  const agent = new EventBuilder({ harness, session: "linked", window: 200_000 })
    .turn(10_000, { composition: parts(4_000) })
    .turn(20_000, { composition: parts(14_000) })
    .turn(30_000, { composition: parts(3_000) });
  await send(agent.take());
  await open(page, harness, "linked");
  const lines = page.getByTestId("cursor-line");
  const composition = page.getByRole("region", { name: "Window composition" });
  const rows = page.getByTestId("log-turn");
  await expect(composition).toContainText("tool output 10.0%");

  await rows.nth(1).hover();
  await expect(lines).toHaveCount(2);
  await expect(lines.first()).toHaveAttribute("data-turn", "2");
  await expect(lines.last()).toHaveAttribute("data-turn", "2");
  await expect(page.getByTestId("turn-tooltip")).toContainText("turn 2 · 20,000 tokens");
  await expect(composition).toContainText("tool output 70.0%");

  const plot = (await page.getByTestId("saw-path").boundingBox())!;
  await page.mouse.move(plot.x + 2, plot.y + plot.height / 2);
  await expect(rows.nth(2)).toHaveAttribute("data-cursor", "true");
  await expect(composition).toContainText("tool output 40.0%");
  await page.mouse.move(0, 0);
  await expect(lines).toHaveCount(0);

  // By keyboard: the plot is a slider over turns, and rows of the log move the cursor too.
  const slider = page.getByRole("slider", { name: "Turns of main" });
  await slider.focus();
  await page.keyboard.press("Home");
  await expect(rows.nth(2)).toHaveAttribute("data-cursor", "true");
  await page.keyboard.press("ArrowRight");
  await expect(slider).toHaveAttribute("aria-valuetext", "turn 2, 20,000 tokens, 10.0% of the window");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/turn=/);
  await expect(rows.nth(1)).toHaveAttribute("aria-current", "true");
  await page.getByRole("button", { name: "Turn 3", exact: true }).focus();
  await expect(lines.first()).toHaveAttribute("data-turn", "3");
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("button", { name: "Turn 2" })).toBeFocused();
  await expect(lines.first()).toHaveAttribute("data-turn", "2");
});

test("parallel sub-agents have a lane each, which selects them @phone", async ({ page, send, harness }) => {
  for (const agent of parallelAgents(harness)) await send(agent.take());
  await open(page, harness, "Audit the repository in parallel");
  const lanes = page.getByTestId("saw-lane");
  await expect(lanes).toHaveCount(12);
  await expect(page.getByTestId("tiles-scope")).toContainText("main24 turns in 1 window, one of 13 agents");
  // Lanes do not overlap, and neither do their names and lines.
  const boxes = await lanes.evaluateAll((all) =>
    all.map((lane) => lane.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })),
  );
  for (const [index, { top }] of boxes.entries())
    if (index > 0) expect(top).toBeGreaterThanOrEqual(boxes[index - 1]!.bottom - 0.5);
  expect(await violations(page), "lanes").toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await lanes.nth(2).getByRole("button").click();
  await expect(page.getByRole("region", { name: "Context tokens of worker-3" })).toBeVisible();
  await expect(page.getByTestId("tiles-scope")).toContainText("worker-3");
});

test("cost and latency are shown where turns report them, and only there", async ({
  page,
  send,
  harness,
}) => {
  const unpriced = { harness, window: 200_000, model: "without-a-price" };
  const paid = new EventBuilder({ ...unpriced, session: "paid" })
    .turn(10_000, { cost_usd: 0.5, duration_ms: 1_500 })
    .turn(12_000, { cost_usd: 0.75, duration_ms: 2_500 })
    .turn(14_000);
  const free = new EventBuilder({ ...unpriced, session: "silent" }).turns(10_000, 12_000);
  await send([...paid.take(), ...free.take()]);
  await open(page, harness, "paid");
  await expect(page.getByTestId("tile-cost")).toContainText("$1.252 of 3 turns");
  await expect(page.getByTestId("tile-latency")).toContainText("1.5 sp95 2.5 s");
  await expect(page.getByTestId("log-turn").nth(1)).toContainText("2.5 s$0.7500");
  await open(page, harness, "silent");
  await expect(page.getByTestId("tile-cost")).toHaveCount(0);
  await expect(page.getByTestId("tile-latency")).toHaveCount(0);
  await expect(page.getByRole("columnheader", { name: "Cost" })).toHaveCount(0);
});

test("the title of the tab is the session's, in the HTML and after a new title", async ({
  page,
  send,
  harness,
}) => {
  const agent = new EventBuilder({ harness, session: "named", window: 200_000 })
    .event("session", { status: "started", title: "First <name> & more" })
    .turns(10_000, 20_000);
  await send(agent.take());
  await open(page, harness, "First <name> & more");
  await expect(page).toHaveTitle("First <name> & more · Plimsoll");
  const html = await (await page.request.get(page.url())).text();
  expect(html).toContain("<title>First &lt;name&gt; &amp; more · Plimsoll</title>");
  await send(agent.event("session", { status: "started", title: "Second name" }).take());
  await expect(page).toHaveTitle("Second name · Plimsoll");
});
