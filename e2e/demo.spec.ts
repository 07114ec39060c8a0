import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { changeAnswer } from "./support/change-answer.ts";
import { readTurnLog } from "./support/read-turn-log.ts";

test.use({ lines: false });

const TOKEN_CHANGE = "[\\d,]+ to [\\d,]+";
/** Boundaries of each session: the text on the page and the minimum count. */
const BOUNDARIES: readonly {
  example: string;
  session: RegExp;
  type: string;
  words: string;
  times: number;
}[] = [
  {
    example: "phantom",
    session: /^slack:/,
    type: "compacted",
    words: `Compacted \\(proactive\\): ${TOKEN_CHANGE}`,
    times: 2,
  },
  {
    example: "phantom",
    session: /^loop:/,
    type: "subtick",
    words: `Sub-tick \\d\\.1: ${TOKEN_CHANGE}, \\d+ tokens handed over\\. max_context_pct 15`,
    times: 3,
  },
  {
    example: "phantom",
    session: /^loop:/,
    type: "cleared",
    words: `Cleared: ${TOKEN_CHANGE}\\. Iteration \\d begins`,
    times: 2,
  },
  {
    example: "ouroboros",
    session: /^ouro:/,
    type: "masked",
    words: `Masked \\d observations?: ${TOKEN_CHANGE}`,
    times: 10,
  },
  {
    example: "ouroboros",
    session: /^ouro:/,
    type: "restarted",
    words: `Restarted, session \\d, \\d turns? carried over: ${TOKEN_CHANGE}\\. The grace turns ran out`,
    times: 1,
  },
  {
    example: "watcher",
    session: /^watcher:/,
    type: "masked",
    words: `Masked \\d+ observations?: ${TOKEN_CHANGE}`,
    times: 2,
  },
  {
    example: "watcher",
    session: /^watcher:/,
    type: "compacted",
    words: `Compacted \\(proactive\\): ${TOKEN_CHANGE}`,
    times: 1,
  },
];
const EXAMPLES = ["phantom", "ouroboros", "autopilot", "watcher", "workers"];
/** What a finished run has produced. While agents are live, it also names the one nearest to its line. */
const SIGHTS = ["unexplained", "suspect", "compacted", "subtick", "masked", "restarted", "agents"];

const demo = (page: Page) => page.getByTestId("demo");
const start = (page: Page) => page.getByRole("button", { name: "Start demo fleet" }).click();

/** Links of the finished demo, by session ID in the harness. */
async function sessionsOf(page: Page): Promise<Map<string, string>> {
  const links = await demo(page)
    .locator("[data-testid^=demo-] a[title]")
    .evaluateAll((all) =>
      all.map((link) => [link.getAttribute("title")!, link.getAttribute("href")!] as const),
    );
  return new Map(links);
}

test("the demo fleet records boundaries, which the session pages explain, and is deleted as a whole", async ({
  page,
  server,
}) => {
  // The demo is paced for viewers.
  test.slow();
  await page.goto("/setup");
  await expect(demo(page)).toHaveAttribute("data-state", "idle");
  // A click runs it for five minutes.
  await server.mutate("demo.start", { minutes: 1 });
  await page.reload();
  await expect(demo(page)).toHaveAttribute("data-state", "running");
  const sights = page.getByTestId("demo-sights");
  await expect(sights).toContainText(/[0-7] of 8 so far/);
  await expect(sights.locator("[data-sight=nearest]")).toBeVisible();
  await expect(page.getByTestId("demo-phantom")).toHaveAttribute("data-state", "running");
  expect(await violations(page), "while it runs").toEqual([]);
  await expect(demo(page)).toHaveAttribute("data-state", "finished", { timeout: 180_000 });
  await expect(demo(page)).toContainText("All 5 examples finished");
  for (const name of EXAMPLES) {
    await expect(page.getByTestId(`demo-${name}`)).toHaveAttribute("data-state", "finished");
  }
  expect(await violations(page), "when it has finished").toEqual([]);
  await expect(page.getByTestId("keys")).toContainText("demo fleet");
  await expect(page.getByTestId("keys")).toContainText("revoked");
  const { keys } = await server.query<{ keys: { name: string; revoked_at: string | null }[] }>("keys.list");
  expect(keys.filter(({ name }) => name === "demo fleet")).toMatchObject([
    { revoked_at: expect.any(String) },
  ]);

  const sessions = await sessionsOf(page);
  expect(sessions.size).toBe(8);
  await test.step("the demo names what to look at", async () => {
    for (const kind of SIGHTS) await expect(sights.locator(`[data-sight=${kind}]`)).toBeVisible();
    await expect(sights).not.toContainText("so far");
    await expect(sights.locator("[data-sight=suspect]")).toContainText("worker-3 exceeds 100% of its window");
    const unexplained = sights.locator("[data-sight=unexplained]");
    await unexplained.getByRole("button", { name: "unexplained" }).focus();
    await expect(page.getByRole("tooltip")).toContainText("no event says why");
    await unexplained.getByRole("link", { name: "worker-2" }).click();
    await page.getByTestId("saw-markers").locator("[data-marker=unexplained]").first().click();
    await expect(page.getByTestId("fall-card")).toContainText("Usual causes");
  });

  for (const { session, type, words, times } of BOUNDARIES) {
    const [name, address] = [...sessions].find(([one]) => session.test(one))!;
    await test.step(`${name}: ${type}`, async () => {
      await page.goto(address);
      const chart = page.getByRole("region", { name: "Context tokens of main" });
      await expect(chart.getByTestId("saw-path")).toBeVisible();
      const markers = chart.locator(`[data-marker=${type}]`);
      await expect.poll(() => markers.count()).toBeGreaterThanOrEqual(times);
      const whole = new RegExp(`^${words}$`);
      const labels = await markers.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")!));
      for (const label of labels) expect(label).toMatch(whole);
      await markers.last().focus();
      await expect(chart.getByText(/^reclaimed [\d,]+ tokens$/)).toBeVisible();

      const log = page.getByRole("region", { name: "Turn log" });
      await expect
        .poll(
          async () =>
            (await readTurnLog(log)).filter((row) => new RegExp(`${words}.*−[\\d,]+`).test(row)).length,
        )
        .toBe(labels.length);
      // The examples report every fall.
      await expect(chart.locator("[data-marker=unexplained]")).toHaveCount(0);
    });
  }

  await test.step("the parts of a split phase are separate agents", async () => {
    const [, address] = [...sessions].find(([one]) => one.startsWith("autopilot:"))!;
    await page.goto(address);
    // The orchestrator takes no turns, so the page opens on a phase.
    await expect(page.getByTestId("saw-path").first()).toBeVisible();
    const agents = page.getByTestId("agent");
    const log = page.getByRole("region", { name: "Turn log" });
    for (const part of ["20a", "20b", "20c"]) {
      await agents.filter({ hasText: new RegExp(`^${part}`) }).click();
      await expect(page.getByRole("heading", { name: `Turns of ${part}` })).toBeVisible();
      await expect.poll(() => page.getByTestId("log-turn").count()).toBeGreaterThan(3);
      await expect
        .poll(() => readTurnLog(log))
        .toContainEqual(expect.stringContaining(`Phase ${part} completed`));
    }
    await agents.filter({ hasText: /^20(?![a-z])/ }).click();
    await expect
      .poll(() => readTurnLog(log))
      .toContainEqual(
        expect.stringContaining("Asked to split phase 20 into 6. 6 issues over about 12 files"),
      );
  });

  await test.step("one click deletes all that it recorded", async () => {
    await page.goto("/setup");
    await page.getByRole("button", { name: "Delete demo data" }).click();
    await expect(page.getByText(/^Deleted 5 harnesses with 8 sessions/)).toBeVisible();
    await expect(sights).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Delete demo data" })).toHaveCount(0);
    await page.goto("/sessions?range=all");
    await expect(page.getByTestId("session-row")).toHaveCount(0);
    const { harnesses } = await server.query<{ harnesses: unknown[] }>("harnesses", {});
    expect(harnesses).toEqual([]);
  });
});

test("the demo starts from an empty fleet and can be stopped @phone", async ({ page, server }) => {
  await page.goto("/");
  await page.getByRole("tab", { name: "Demo" }).click();
  await start(page);
  // Without a reload.
  await expect(page.getByTestId("fleet-row").first()).toBeVisible();
  const sights = page.getByTestId("demo-sights");
  await expect(sights).toContainText("What to look at");
  await expect(sights.locator("[data-sight=nearest]")).toBeVisible();
  expect(await violations(page), "Fleet while it runs").toEqual([]);
  await page.goto("/setup");
  await expect(demo(page)).toHaveAttribute("data-state", "running");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(demo(page)).toHaveAttribute("data-state", "stopped");
  await expect(demo(page)).toContainText("Events sent before the stop are recorded.");
  await page.goto("/");
  await expect(page.getByTestId("fleet-row").first()).toBeVisible();
  await expect(sights).toHaveCount(0);
  await page.goto("/setup");
  expect(await violations(page), "when it was stopped").toEqual([]);
  await start(page);
  await expect(demo(page)).toHaveAttribute("data-state", "running");
  await server.mutate("demo.stop");
});

test("the advice after a failed demo shows commands as code", async ({ page }) => {
  await changeAnswer(page, "demo.get", (view) => {
    view.state = "failed";
    view.failure = { reason: "not_started", message: "The demo did not start." };
  });
  await page.goto("/setup");
  await expect(demo(page).getByRole("code")).toHaveText(["npm ci", "npm run demo"]);
  await expect(demo(page)).not.toContainText("`");
  expect(await violations(page)).toEqual([]);
});
