import type { Locator, Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const row = (page: Page, session: string) => page.getByTestId("fleet-row").filter({ hasText: session });

/** Turns up to each level, and the compaction that follows there. */
function compacting(agent: EventBuilder, levels: readonly number[], trigger = "auto"): EventBuilder {
  for (const level of levels)
    agent
      .turns(30_000, Math.round(level / 2), level)
      .event("compacted", { trigger, tokens_before: level, tokens_after: 25_000 });
  return agent.turns(25_000);
}

async function expectWhole(text: Locator): Promise<void> {
  await expect(text).toBeVisible();
  expect(await text.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
}

test("a person sees where the harness compacts, and is warned where that is not its line", async ({
  page,
  send,
  harness: unique,
}) => {
  const harness = `claude-code@${unique.replace(/\W/g, "")}`;
  const builder = (session: string, window = 200_000) =>
    new EventBuilder({ harness, session, window, start: Date.now() - 20 * 60_000 });
  const steady = compacting(builder("steady", 1_000_000), [960_000], "manual");
  const early = builder("early").turns(20_000, 30_000);
  await send([...steady.take(), ...early.take()]);

  await test.step("before any compaction, the line is computed", async () => {
    await page.goto(`/?harness=${harness}`);
    await expect(row(page, "steady").getByTestId("harness-line")).toHaveText("compacts at 967k (computed)");
    await expect(row(page, "early").getByTestId("harness-line")).toHaveText("compacts at 167k (computed)");
    await live(page);
  });

  await test.step("one compaction is not enough to tell", async () => {
    await send(compacting(early, [86_000]).take());
    await page.goto(`/?harness=${harness}`);
    await row(page, "early").getByRole("link", { name: "early" }).click();
    const line = page.getByRole("region", { name: "Key numbers" }).getByTestId("harness-line");
    await expect(line).toContainText("Harness compacts at 167k (computed; observed once, 86k).");
    await expect(line).toContainText("Fewer than 3 observed compactions");
    await expect(line).not.toHaveAttribute("data-differs");
  });

  await test.step("three compactions far below the line are flagged, on an open page too", async () => {
    await send([
      ...compacting(early, [85_000, 88_000]).take(),
      ...compacting(steady, [955_000, 961_000, 958_000]).take(),
    ]);
    const line = page.getByRole("region", { name: "Key numbers" }).getByTestId("harness-line");
    await expect(line).toContainText("Harness compacts at 167k (computed; observed 3 times, 85k–88k).");
    await expect(line).toContainText("It compacts earlier than its line of 167,000 tokens says.");
    await expect(line).toHaveAttribute("data-differs");
    await line.getByText("Usual causes").click();
    await expect(line.getByRole("listitem").filter({ hasText: "autoCompactWindow" })).toBeVisible();
    await expect(
      line.getByRole("listitem").filter({ hasText: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" }),
    ).toBeVisible();
    expect(await violations(page)).toEqual([]);
  });

  await test.step("the Policies page lists it beside the line that judges, the greatest difference first", async () => {
    await page.goto("/policies");
    const lines = page.getByTestId("compaction-line");
    await expect(lines).toHaveCount(2);
    await expect(lines.first()).toContainText("200k window");
    await expect(lines.first()).toContainText(/Own line\s*167k\s*Observed\s*86k.*Difference\s*−81k/);
    await expect(lines.first()).toContainText("It compacts earlier than its line of 167,000 tokens says.");
    await expect(lines.last()).toContainText(/Own line\s*967k\s*Observed\s*958k/);
    await page.goto(`/?harness=${harness}`);
  });

  await test.step("the fleet says so in a few words, whole at every width", async () => {
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(`/?harness=${harness}`);
      const flagged = row(page, "early").getByTestId("harness-line");
      await expect(flagged).toHaveText("compacts near 86k, not 167k");
      await expect(flagged).toHaveAttribute("data-differs");
      await expect(flagged).toHaveAttribute("title", /observed 3 times, 85k–88k/);
      await expectWhole(flagged.locator("span"));
      const steadyLine = row(page, "steady").getByTestId("harness-line");
      await expect(steadyLine).toHaveText("compacts at 967k (observed 3×)");
      await expect(steadyLine).not.toHaveAttribute("data-differs");
      await expectWhole(steadyLine.locator("span"));
    }
    expect(await violations(page)).toEqual([]);
  });
});

test("an unknown harness has no own line until it compacts", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "house bot", model: `house-of-${harness}` });
  await send(agent.turns(40_000, 60_000).take());
  await page.goto(`/?harness=${harness}`);
  await expect(row(page, "house bot")).toBeVisible();
  await expect(row(page, "house bot").getByTestId("harness-line")).toHaveCount(0);
  await send(compacting(agent, [88_000, 89_000, 90_000]).take());
  await page.goto(`/?harness=${harness}`);
  await expect(row(page, "house bot").getByTestId("harness-line")).toHaveText(
    "compacts near 89k (observed 3 times)",
  );
});
