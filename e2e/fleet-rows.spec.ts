import type { Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;
const row = (page: Page, name: string) => page.getByTestId("fleet-row").filter({ hasText: name });

test.describe("without a policy", () => {
  test.use({ lines: false });

  test("each row names its line, where it comes from, and the end of the window", async ({ page, send }) => {
    const agent = (harness: string, window: number) =>
      new EventBuilder({ harness, session: `of ${harness}`, window }).turns(
        ...[0.1, 0.11, 0.12].map((share) => Math.round(window * share)),
      );
    await send([
      ...agent("claude-code@mac", 200_000).take(),
      ...agent("codex@ws", 258_400).take(),
      ...agent("phantom@vm", 1_000_000).take(),
      ...agent("ouroboros@gpu", 32_768).take(),
      ...agent("my-harness@lab", 128_000).take(),
      ...agent("opencode@ws", 200_000)
        .event("threshold_crossed", {
          threshold: "hard",
          direction: "up",
          threshold_tokens: 23_000,
          context_tokens: 24_000,
        })
        .take(),
    ]);
    await page.goto("/");
    await expect(page.getByTestId("fleet-row")).toHaveCount(6);
    for (const [harness, line, title] of [
      ["claude-code@mac", "compaction · default", "where the harness compacts by itself, at 167,000 tokens"],
      ["codex@ws", "compaction · default", "where the harness compacts by itself, at 244,705 tokens"],
      ["phantom@vm", "ceiling · default", "the agent's ceiling, at 200,000 tokens"],
      ["ouroboros@gpu", "hard limit · default", "the agent's hard limit, at 29,491 tokens"],
      ["my-harness@lab", "window end · default", "the end of the window, at 128,000 tokens"],
    ] as const) {
      await expect(row(page, `of ${harness}`).getByTestId("line")).toHaveText(line);
      await expect(row(page, `of ${harness}`).getByTestId("line")).toHaveAttribute(
        "title",
        new RegExp(`^The line is ${title}`),
      );
      await expect(row(page, `of ${harness}`).getByTestId("window-end")).toBeVisible();
    }
    // A ceiling belongs to Phantom alone.
    for (const harness of ["claude-code@mac", "codex@ws", "my-harness@lab"])
      await expect(row(page, `of ${harness}`)).not.toContainText("ceiling");
  });

  test("history that is sent late does not fill the page, and a clock that is ahead does not empty it", async ({
    page,
    send,
  }) => {
    const levels = [20_000, 30_000, 40_000];
    const old = (name: string, ago: number) =>
      new EventBuilder({ harness: "a@1", session: name, window: 200_000, start: Date.now() - ago }).turns(
        ...levels,
      );
    await send([
      ...Array.from({ length: 12 }, (_, index) =>
        old(`imported ${index}`, (index + 1) * 60 * MINUTE).take(),
      ).flat(),
      ...old("working", MINUTE).take(),
      ...old("ahead", -3 * MINUTE).take(),
    ]);
    await page.goto("/");
    await expect(page.getByTestId("fleet-row")).toHaveCount(2);
    await expect(row(page, "ahead")).toContainText("clock ahead");
    await expect(row(page, "working")).not.toContainText("clock");
    await page.goto("/sessions?range=24h&status=live");
    await expect(page.getByTestId("session-row")).toHaveCount(2);
  });
});

test("an agent silent for ten minutes is dimmed and sinks", async ({ page, send, harness }) => {
  const agent = (session: string, level: number, ago: number) =>
    new EventBuilder({ harness, session, window: 200_000, start: Date.now() - ago }).turns(level).take();
  await send([...agent("quiet", 39_000, 12 * MINUTE), ...agent("busy", 9_000, MINUTE)]);
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("busy");
  await expect(rows.last()).toHaveAttribute("data-silent", "true");
  await expect(rows.first()).not.toHaveAttribute("data-silent");
  await live(page);
  await send(
    new EventBuilder({ harness, session: "quiet", window: 200_000, start: Date.now() })
      .turn(39_500, { id: "again" })
      .take(),
  );
  await expect(rows.first()).toContainText("quiet");
  await expect(rows.first()).not.toHaveAttribute("data-silent");
});

test("a row shows the last turns with their falls, and the last fall in words", async ({
  page,
  send,
  harness,
}) => {
  const agent = new EventBuilder({ harness, session: "sawtooth", window: 200_000, pace: 10_000 })
    .turns(10_000, 20_000, 30_000)
    .event("compacted", { trigger: "auto", tokens_before: 30_000, tokens_after: 8_000 })
    .turns(8_000, 12_000, 16_000, 20_000);
  await send(agent.take());
  await page.goto(`/?harness=${harness}`);
  await expect(
    row(page, "sawtooth").getByRole("img", { name: /^Last 7 turns: 10k to 20k tokens, compacted$/ }),
  ).toBeVisible();
  await expect(row(page, "sawtooth").getByTestId("last-fall")).toHaveText(/^compacted \d+ min ago, −22k$/);
  await expect(row(page, "sawtooth")).toContainText("5 turns · <1 min");
});

test("each tile leads to the sessions it counts", async ({ page, server, send, harness }) => {
  await send(
    new EventBuilder({ harness, session: "counted", window: 200_000 })
      .turns(30_000, 41_000)
      .event("masked", { observations: 3, tokens_before: 41_000, tokens_after: 21_000 })
      .turn(21_000)
      .take(),
  );
  await page.goto(`/?harness=${harness}`);
  const tile = (name: string) => page.getByTestId(`tile-${name}`);
  await expect(tile("current")).toContainText("10.5%");
  await expect(tile("current")).toContainText("median 10.5%");
  await expect(tile("peak")).toContainText("20.5%");
  await expect(tile("masked")).toContainText("20k freed");
  await expect(tile("warnings")).toContainText("1");
  for (const [name, query] of [
    ["unexplained", "reason=unexplained"],
    ["current", "status=live&sort=load"],
    ["peak", "sort=peak_utilization"],
    ["warnings", "warned=1"],
    ["masked", "reason=masked"],
    ["subticks", "reason=subtick"],
    ["restarts", "reason=restarted"],
  ] as const) {
    const href = `/sessions?range=24h&harness=${encodeURIComponent(harness)}&${query}`;
    await expect(tile(name), name).toHaveAttribute("href", server.inProject(href));
  }
  await tile("masked").click();
  await expect(page).toHaveURL(/\/sessions\?.*reason=masked/);
  await expect(page.getByTestId("session-row")).toContainText("counted");
});

test("a wrong window size is left out of the peak and named as a problem", async ({
  page,
  send,
  harness,
}) => {
  await send([
    ...new EventBuilder({ harness, session: "sound", window: 200_000 }).turns(38_000).take(),
    ...new EventBuilder({ harness, session: "wrong", window: 20_000, model: "house-model" })
      .turns(60_000)
      .take(),
  ]);
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(2);
  await expect(rows.last()).toHaveAttribute("data-state", "suspect");
  await expect(page.getByTestId("tile-peak")).toContainText(/1[89]\.\d%/);
  await expect(page.getByTestId("tile-current")).toContainText("19.0%");
  const notice = page.getByTestId("suspects");
  await expect(notice).toContainText("1 session above 100% of its window: house-model is not 20k");
  await expect(notice).toContainText("house-model: 60k of 20k (300.0%), size reported by the harness.");
  // One line until it is opened.
  expect((await notice.boundingBox())!.height).toBeLessThan(48);
  await notice.getByText("1 session above").click();
  await expect(notice.getByRole("link", { name: "View sessions" })).toBeVisible();
  expect(await violations(page)).toEqual([]);

  await test.step("one click mends it, and another undoes that", async () => {
    await live(page);
    await notice.getByRole("button", { name: "Set 20k → 65.5k for house-model" }).click();
    await expect(notice).toBeHidden();
    await expect(row(page, "wrong").getByTestId("window-end")).toHaveText("65.5k");
    await expect(row(page, "wrong")).not.toHaveAttribute("data-state", "suspect");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(notice).toContainText("house-model is not 20k");
    await expect(row(page, "wrong")).toHaveAttribute("data-state", "suspect");
  });

  await test.step("it stays away once it is dismissed, until it says something else", async () => {
    await notice.getByRole("button", { name: "Dismiss: Wrong window sizes" }).click();
    await expect(notice).toBeHidden();
    await page.reload();
    await expect(rows).toHaveCount(2);
    await expect(notice).toBeHidden();
    await send(
      new EventBuilder({ harness, session: "also wrong", window: 30_000, model: "other-model" })
        .turns(70_000)
        .take(),
    );
    await expect(notice).toContainText("2 sessions above 100% of their window");
  });
});

test("the page has no sideways scroll from 1024 to 2560 px", async ({ page, send, harness }) => {
  await send(
    Array.from({ length: 20 }, (_, index) =>
      new EventBuilder({ harness, session: `agent with quite a long name ${index}`, window: 200_000 })
        .turns(20_000 + index, 30_000 + index)
        .take(),
    ).flat(),
  );
  const rows = page.getByTestId("fleet-row");
  for (const width of [1024, 1100, 1165, 1280, 1440, 1900, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/?harness=${harness}`);
    await expect(rows).toHaveCount(width >= 1900 ? 16 : 8);
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await expect.poll(overflow, `at ${width} px`).toBeLessThanOrEqual(0);
    // No row is wider than its panel.
    expect(
      await rows.evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length),
      `at ${width} px`,
    ).toBe(0);
  }
  // The charts are next to the agents, so that half of a wide screen is not empty.
  const chart = page.getByRole("region", { name: "Context window utilization" });
  const box = (await chart.boundingBox())!;
  expect(box.x).toBeGreaterThan(1_280);
  expect(box.y).toBeLessThan(400);
  expect(box.x + box.width).toBeGreaterThan(2_500);
});
