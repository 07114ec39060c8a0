import type { Locator, Page } from "@playwright/test";
import { LINE_AT } from "@plimsoll/fold";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ lines: false });

const row = (page: Page, name: string) => page.getByTestId("fleet-row").filter({ hasText: name });
const level = (page: Page, name: string) => row(page, name).getByTestId("hull-level");

/** One agent in each state, each at the same share of its own line where it can be. */
function everyState(): EventBuilder[] {
  const agent = (session: string, harness: string, window: number | undefined, ...levels: number[]) =>
    new EventBuilder({
      harness,
      session,
      ...(window === undefined ? { model: "acme-coder-9" } : { window }),
    }).turns(...levels);
  return [
    // Claude Code compacts at 167k of 200k and at 967k of 1M; Phantom's ceiling is a fifth of its window.
    agent("Passing", "claude-code@a", 200_000, 168_000, 170_000),
    agent("Overflowing", "inhouse@a", 100_000, 96_000, 100_000),
    agent("Cautious", "phantom@a", 1_000_000, 150_000, 160_000),
    agent("Half small", "claude-code@b", 200_000, 80_000, 83_500),
    agent("Half large", "claude-code@c", 1_000_000, 400_000, 483_500),
    agent("Unsized", "inhouse@b", undefined, 20_000, 21_000),
  ];
}

test("all hulls have one load line, equal loads look alike, and the window's end is drawn past the line", async ({
  page,
  send,
}) => {
  await send(everyState().flatMap((agent) => agent.take()));
  for (const width of [390, 768, 1024, 1440, 1920, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto("/?sort=load");
    await expect(page.getByTestId("fleet-row")).toHaveCount(6);
    const lines = await page
      .getByTestId("hull-line")
      .evaluateAll((all) => all.map((line) => line.getBoundingClientRect().x));
    expect(lines).toHaveLength(5);
    expect(Math.max(...lines) - Math.min(...lines), `the line at ${width} px`).toBeLessThan(0.5);
    // It runs through the rows without a gap.
    const gaps = await page.getByTestId("fleet-row").evaluateAll((all) =>
      all.slice(0, 5).map((one) => {
        const box = one.getBoundingClientRect();
        const line = one.querySelector("[data-testid=hull-through]")!.getBoundingClientRect();
        return line.top <= box.top && line.bottom >= box.bottom;
      }),
    );
    expect(gaps, `at ${width} px`).toEqual([true, true, true, true, true]);
    expect(await rightOf(level(page, "Half small"))).toBeCloseTo(await rightOf(level(page, "Half large")), 0);
  }

  const placeOf = async (name: string) => Number(await level(page, name).getAttribute("data-at"));
  expect(await placeOf("Half small")).toBeCloseTo(LINE_AT / 2, 3);
  // Sorted by load, levels get shorter from row to row.
  const levels = await page
    .getByTestId("hull-level")
    .evaluateAll((all) => all.map((one) => Number(one.getAttribute("data-at"))));
  expect(levels).toEqual([...levels].sort((a, b) => b - a));

  // Past its line with room left, beside one that is at the end of its window.
  const roomOf = async (name: string) =>
    (await row(page, name).getByTestId("window-end").boundingBox())!.x - (await rightOf(level(page, name)));
  expect(await roomOf("Passing")).toBeGreaterThan(20);
  expect(await roomOf("Overflowing")).toBeLessThan(2);
  // Nothing to draw against, and no line.
  await expect(row(page, "Unsized").getByTestId("hull-none")).toBeVisible();
  await expect(row(page, "Unsized").getByTestId("hull-line")).toHaveCount(0);

  // One percentage a row.
  for (const name of ["Passing", "Overflowing", "Cautious", "Half small"])
    expect(((await row(page, name).textContent())!.match(/%/g) ?? []).length, name).toBe(1);
  await expect(row(page, "Passing").getByTitle(/window of 200,000, 85\.0% used/)).toBeVisible();
  expect(await violations(page)).toEqual([]);
});

const rightOf = async (element: Locator) => {
  const box = (await element.boundingBox())!;
  return box.x + box.width;
};

test("states differ by texture, also in forced colors", async ({ page, send }) => {
  await send(everyState().flatMap((agent) => agent.take()));
  await page.goto("/");
  await expect(page.getByTestId("fleet-row")).toHaveCount(6);
  const states = ["Passing", "Overflowing", "Cautious", "Half small"];
  for (const forcedColors of ["none", "active"] as const) {
    await page.emulateMedia({ forcedColors });
    const looks: string[] = [];
    for (const name of states) {
      const look = await level(page, name).evaluate((fill) => {
        const { backgroundImage, backgroundColor } = getComputedStyle(fill);
        // Without its colors, what is left of a texture is its directions and stops.
        return backgroundImage === "none"
          ? `plain ${backgroundColor === "rgba(0, 0, 0, 0)" ? "and invisible" : ""}`
          : backgroundImage.replace(/(rgba?|color|color-mix|oklab|color\(srgb)\([^()]*\)/g, "_");
      });
      looks.push(look);
    }
    expect(looks.at(-1), `a plain fill with forced colors ${forcedColors}`).toBe("plain ");
    expect(new Set(looks).size, `textures with forced colors ${forcedColors}`).toBe(states.length);
  }
  // The hull itself is visible without its background.
  await expect(row(page, "Half small").locator(".hull-body")).toHaveCSS("border-top-style", "solid");
});

test("one sentence says who is next, leads there, and follows the turns", async ({ page, send, harness }) => {
  const agent = (session: string, ...levels: number[]) =>
    new EventBuilder({ harness, session, window: 100_000, pace: 10_000, start: Date.now() - 60_000 }).turns(
      ...levels,
    );
  const calm = agent("calm", 20_000, 20_010, 20_020, 20_030);
  await send(calm.take());
  await page.goto(`/?harness=${harness}`);
  const next = page.getByTestId("next");
  await expect(next).toHaveText("Nobody is near a line");
  await expect(next.getByRole("link")).toHaveAttribute("href", /\/sessions\?.*status=live/);
  await live(page);

  await send([
    ...agent("Migrate the user table", 70_000, 78_000, 84_000, 90_000).take(),
    ...agent("second", 60_000, 64_000, 68_000, 72_000).take(),
  ]);
  await expect(next).toHaveText(
    "Next: Migrate the user table reaches its line in 2 turns, under 1 minute, then 1 more within 10 minutes",
  );
  expect(await violations(page)).toEqual([]);
  await next.getByRole("link").click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Migrate the user table");
});

test("the order is one of four, kept in the address", async ({ page, send, harness }) => {
  const agent = (session: string, window: number, ago: number, ...levels: number[]) =>
    new EventBuilder({
      harness,
      session,
      window,
      pace: 10_000,
      start: Date.now() - ago - (levels.length - 1) * 10_000,
    }).turns(...levels);
  await send([
    ...agent("soon", 100_000, 50_000, 40_000, 50_000, 60_000, 70_000).take(),
    ...agent("full", 100_000, 40_000, 90_000, 90_000, 90_000, 90_000).take(),
    ...agent("large", 1_000_000, 30_000, 300_000, 300_000, 300_000, 300_000).take(),
    ...agent("latest", 100_000, 1_000, 10_000, 10_000, 10_000, 10_000).take(),
  ]);
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(4);
  await expect(rows.first()).toContainText("soon");
  for (const [name, value, first] of [
    ["Load", "load", "full"],
    ["Tokens", "tokens", "large"],
    ["Last turn", "last", "latest"],
  ] as const) {
    await page.getByRole("button", { name: /^Order:/ }).click();
    await page.getByRole("menuitemradio", { name, exact: true }).click();
    await expect(rows.first()).toContainText(first);
    await expect(page).toHaveURL(new RegExp(`sort=${value}`));
    await page.reload();
    await expect(rows.first()).toContainText(first);
  }
});

test("rows change places at most every ten seconds, slide there, and not while the pointer is among them", async ({
  page,
  send,
  harness,
}) => {
  const start = Date.now();
  await page.clock.install({ time: start });
  const agents = Array.from({ length: 6 }, (_, index) =>
    new EventBuilder({ harness, session: `agent-${index}`, window: 100_000, start: start - 60_000 }).turns(
      10_000 + index * 10_000,
    ),
  );
  await send(agents.flatMap((agent) => agent.take()));
  await page.goto(`/?harness=${harness}&sort=load`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(6);
  await live(page);
  const order = () => rows.evaluateAll((all) => all.map((one) => one.getAttribute("data-agent")).join());
  /** Lets little time pass until a load is on the page. */
  const showsLoad = (name: string, load: string) =>
    expect
      .poll(async () => {
        await page.clock.runFor(50);
        return row(page, name).getByTestId("load").textContent();
      })
      .toContain(load);

  // The first change shows at once, the next ones together after ten seconds.
  await page.clock.pauseAt(start + 600_000);
  await send(agents[0]!.turn(90_000).take());
  await showsLoad("agent-0", "90%");
  await expect(rows.first()).toContainText("agent-0");
  const first = await order();
  for (const [index, tokens] of [
    [1, 91_000],
    [2, 92_000],
    [3, 93_000],
  ] as const) {
    await send(agents[index]!.turn(tokens).take());
    await showsLoad(`agent-${index}`, `${tokens / 1000}%`);
  }
  expect(await order()).toBe(first);
  await page.clock.runFor(10_100);
  await expect(rows.first()).toContainText("agent-3");
  // They slid there.
  const second = await order();

  await rows.nth(2).hover();
  await send(agents[4]!.turn(95_000).take());
  await showsLoad("agent-4", "95%");
  await page.clock.runFor(60_000);
  expect(await order()).toBe(second);
  await page.mouse.move(0, 0);
  await page.clock.runFor(100);
  await expect(rows.first()).toContainText("agent-4");
});
