import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { readTurnLog } from "./support/read-turn-log.ts";

/** A session with three windows and five boundary types; thresholds at 30k and 40k. */
function allBoundaries(harness: string): EventBuilder {
  return new EventBuilder({ harness, session: "all-boundaries", window: 200_000 })
    .event("session", { status: "started", kind: "loop", title: "Refactor the billing webhooks" })
    .turns(12_000, 20_000, 28_000, 36_000)
    .event("masked", { observations: 9, tokens_before: 36_000, tokens_after: 24_000, tools: ["bash"] })
    .turns(24_000, 31_000, 38_000)
    .event("compacted", { trigger: "auto", tokens_before: 38_000, tokens_after: 15_000 })
    .turns(15_000, 27_000, 41_000)
    .event("subtick", {
      loop: "7c1e",
      tick: 4,
      sub: 1,
      tokens_before: 41_000,
      handoff_tokens: 3_000,
      reason: "The ceiling was crossed",
      visible: true,
    })
    .turns(5_000, 18_000, 33_000)
    .event("restarted", {
      number: 3,
      previous_turns: 13,
      carryover_turns: 4,
      reason: "The hard limit was near",
    })
    .turns(8_000, 20_000, 30_000, 12_000, 16_000);
}

const BOUNDARIES = [
  ["masked", "Masked 9 observations: 36,000 to 24,000", "−12,000"],
  ["compacted", "Compacted (auto): 38,000 to 15,000", "−23,000"],
  ["subtick", "Sub-tick 4.1: 41,000 to 5,000, 3,000 tokens handed over. The ceiling was crossed", "−36,000"],
  [
    "restarted",
    "Restarted, session 3, 4 turns carried over: 33,000 to 8,000. The hard limit was near",
    "−25,000",
  ],
  ["unexplained", "Unexplained fall, no reason reported: 30,000 to 12,000", "−18,000"],
] as const;

test("every boundary has a marker with its reason and reclaimed tokens, which arrow keys reach", async ({
  page,
  send,
  harness,
}) => {
  expect((await send(allBoundaries(harness).take())).rejected).toEqual([]);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "Refactor the billing webhooks" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Refactor the billing webhooks");

  await expect(page.getByTestId("tile-now")).toContainText("16k");
  await expect(page.getByTestId("tile-now")).toContainText("8.0% of 200k");
  await expect(page.getByTestId("tile-load")).toContainText("40%");
  await expect(page.getByTestId("tile-peak")).toContainText("41k");
  await expect(page.getByTestId("tile-peak")).toContainText("20.5%, turn 10");
  await expect(page.getByTestId("tile-boundaries").locator("[data-value]")).toHaveText("5");
  await expect(page.getByTestId("tile-boundaries")).toContainText("1 masked, 1 compacted, 1 sub-tick");
  await expect(page.getByTestId("tile-reclaimed").locator("[data-value]")).toHaveAttribute(
    "title",
    "114,000 tokens",
  );

  const chart = page.getByRole("region", { name: "Context tokens of main" });
  await expect(chart.getByTestId("saw-path")).toBeVisible();
  const log = page.getByRole("region", { name: "Turn log" });
  for (const [type, words, reclaimed] of BOUNDARIES) {
    const marker = chart.locator(`[data-marker=${type}]`);
    await expect(marker).toHaveAttribute("aria-label", words);
    await marker.hover();
    await expect(chart.getByText(`reclaimed ${reclaimed.slice(1)} tokens`)).toBeVisible();
    await expect.poll(() => readTurnLog(log)).toContainEqual(expect.stringContaining(words));
    const row = (await readTurnLog(log)).find((text) => text.includes(words));
    expect(row).toContain(reclaimed);
  }
  await expect(chart.locator("[data-marker]")).toHaveCount(BOUNDARIES.length);
  await page.mouse.move(0, 0);

  // Thresholds and their crossings.
  await expect(chart.getByText("ceiling 20% · 40k")).toBeVisible();
  await expect(chart.getByText("warning 15% · 30k")).toBeVisible();
  expect(await readTurnLog(log)).toContainEqual("Rose above ceiling (40,000) at 41,000");
  await expect(page.getByTitle("The policy sets these thresholds.")).toHaveText(
    /^policy \d+, not acknowledged$/,
  );

  await test.step("arrow keys move between markers, on the turn axis and the time axis", async () => {
    await chart.locator("[data-marker=masked]").focus();
    await expect(chart.getByText("reclaimed 12,000 tokens")).toBeVisible();
    await page.keyboard.press("ArrowRight");
    await expect(chart.locator("[data-marker=compacted]")).toBeFocused();
    await expect(chart.getByText("reclaimed 23,000 tokens")).toBeVisible();
    await chart.getByRole("button", { name: "Time", exact: true }).click();
    await expect(page).toHaveURL(/axis=time/);
    await expect(chart.locator("[data-marker]")).toHaveCount(BOUNDARIES.length);
  });

  // The table view has everything that is drawn.
  await chart.getByRole("button", { name: "View as table" }).click();
  await expect(chart.getByRole("table", { name: "Boundaries" }).getByRole("row")).toHaveCount(
    1 + BOUNDARIES.length,
  );
  await expect(chart.getByRole("table", { name: "Turns" }).getByRole("row")).toHaveCount(19);
  const windows = chart.getByRole("table", { name: "Windows" }).getByRole("row");
  await expect(windows).toHaveCount(4);
  await expect(windows.nth(1)).toContainText("41,000");
  await expect(windows.nth(2)).toContainText("33,000");
  await expect(windows.nth(3)).toContainText("30,000");
});

test("the turn log shows an agent's note and its return after a compaction, and none of its text @phone", async ({
  page,
  send,
  harness,
}) => {
  const agent = new EventBuilder({ harness, session: "noted", window: 200_000 })
    .turns(80_000, 105_000)
    .event("checkpoint", {
      ...{ characters: 1_240, tokens: 310, context_tokens: 105_000, line_tokens: 117_000 },
      note: "Next: the keel",
    })
    .turns(112_000)
    .event("compacted", { trigger: "auto" })
    .event("reinjected", { tokens: 420, checkpoint: true, rules: 3, lines: 1, left_out: 2 })
    .turns(20_000);
  expect((await send(agent.take())).rejected).toEqual([]);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "noted" }).click();
  const log = page.getByRole("region", { name: "Turn log" });
  await expect(log.getByText("Checkpoint, 1,240 characters, 12k tokens below the line")).toBeVisible();
  await expect(
    log.getByText(
      "After the compaction: the checkpoint, 3 rules, 1 sentence put back, 420 tokens; 2 did not fit",
    ),
  ).toBeVisible();
  await expect(page.getByTestId("tile-boundaries").locator("[data-value]")).toHaveText("1");
  await expect(page.getByText("keel")).toHaveCount(0);
});

test("an open session page updates without a reload", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "growing", window: 200_000 }).turns(
    8_000,
    10_000,
    12_000,
    14_000,
  );
  await send(agent.take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "growing" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("14k");
  await expect(page.getByTestId("tile-line")).toContainText("13");
  await live(page);
  await send(agent.turn(35_000).take());
  await expect(page.getByTestId("tile-now")).toContainText("35k");
  await expect(page.getByTestId("log-turn").first()).toContainText("+21,000");
  await expect(page.getByTestId("log-crossing")).toContainText("Rose above warning (30,000) at 35,000");
});

test("the header of a session takes two rows, and its chart begins at the edge of the panel", async ({
  page,
  send,
  harness,
}) => {
  const main = allBoundaries(harness);
  await send(main.take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "Refactor the billing webhooks" }).click();
  const tiles = (await page.getByRole("region", { name: "Key numbers" }).boundingBox())!;
  expect(tiles.y).toBeLessThan(120);
  await expect(page.getByTestId("tile-line")).toContainText("To the ceiling");
  const chart = page.getByRole("region", { name: "Context tokens of main" });
  const frame = (await chart.boundingBox())!;
  const label = (await chart.locator("svg text").filter({ hasText: /^0$/ }).first().boundingBox())!;
  expect(label.x - frame.x).toBeLessThan(64);
});

test("one turn to the ceiling is counted in the singular", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "near", window: 200_000 });
  await send(agent.turns(30_000, 32_000, 34_000, 36_000, 38_500).take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "near" }).click();
  await expect(page.getByTestId("tile-line")).toContainText(/1turn, \+2k each/);
});

test("an ended session shows no forecast", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "finished", window: 200_000 });
  await send(agent.turns(8_000, 10_000, 12_000, 14_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "finished" }).click();
  await expect(page.getByTestId("tile-line")).toContainText("turns, +2k each");
  await expect(page.getByTestId("saw-forecast")).toHaveCount(1);
  await live(page);
  await send(agent.event("session", { status: "ended", reason: "done" }).take());
  await expect(page.getByTestId("tile-line")).toContainText("session ended");
  await expect(page.getByTestId("saw-forecast")).toHaveCount(0);
  // Nothing on the page claims to be live.
  await expect(page.getByTestId("live").filter({ visible: true })).toHaveCount(0);
  await expect(page.getByTestId("tile-now")).toContainText("Last level");
});

test("the window composition is shown only if the harness reports it", async ({ page, send, harness }) => {
  const composition = { system: 2_000, tools: 3_000, memory: 1_000, history: 4_000, tool_output: 10_000 };
  const reporting = new EventBuilder({ harness, session: "reporting", window: 200_000 })
    .turn(18_000, { composition: { ...composition, tool_output: 8_000 } })
    .turn(20_000, { composition });
  const silent = new EventBuilder({ harness, session: "silent", window: 200_000 }).turns(18_000, 20_000);
  await send([...reporting.take(), ...silent.take()]);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "reporting" }).click();
  const panel = page.getByRole("region", { name: "Window composition" });
  await expect(panel).toContainText("tool output 50.0%");
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "silent" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("20k");
  await expect(panel).toHaveCount(0);
});
