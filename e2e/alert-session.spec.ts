import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

/** Watches the line of every agent, and lets alerts end at once. */
const watchCeiling = (server: PlimsollServer) =>
  server.mutate("alerts.rules.create", {
    rule: {
      name: "Ceiling crossed",
      condition: { type: "threshold", threshold: "line" },
      severity: "critical",
    },
  });

const session = () =>
  new EventBuilder({
    harness: "phantom@vm-1",
    session: "fix the build",
    window: 200_000,
    start: Date.now() - 5 * 60_000,
    pace: 1_000,
  });

test("the link of an alert opens the session at its turn @phone", async ({ page, server, send }) => {
  await watchCeiling(server);
  await page.goto("/alerts");
  const agent = session();
  await send(agent.turns(20_000, 60_000).take());
  const firing = page.getByRole("list", { name: "Firing alerts" });
  await expect(firing).toContainText("fix the build");
  await send(agent.turns(30_000).take());
  await expect(page.getByText("Nothing fires")).toBeVisible();
  // The turn is not among those that the log loads first.
  await send(agent.turns(...Array.from({ length: 300 }, (_, n) => 20_000 + n * 10)).take());

  await page.getByRole("button", { name: "Alerts: Open" }).click();
  await page.getByRole("menuitemradio", { name: "Ended" }).click();
  await page.getByRole("list", { name: "Ended alerts" }).getByRole("link").click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("fix the build");
  const log = page.getByRole("region", { name: "Turn log" });
  const marked = log.locator("[aria-current=true]");
  await expect(marked).toContainText("60,000");
  await log.evaluate((region) => region.scrollIntoView());
  await expect(marked).toBeInViewport();
  await expect(page.getByTestId("saw-linked-turn")).toHaveAttribute("data-turn", "2");
  await expect(page.getByText("281 newer turns are not shown.")).toBeVisible();
  expect(await violations(page), "at the turn").toEqual([]);

  const span = page.locator("[data-alert-span]");
  await expect(span).toHaveAttribute(
    "aria-label",
    /^Critical alert, Ceiling crossed: .* fell from 60k to 30k$/,
  );
  await expect(span).toHaveAttribute("data-open", "false");
  await expect(page.getByRole("list", { name: "Alerts of this session" })).toContainText("Ceiling crossed");

  // In a long session, the chart opens around the turn.
  await expect(page.getByText("turns 1 to 22 of 303")).toBeVisible();
  await page.getByRole("button", { name: "Show all turns" }).click();
  await expect(page.getByText("turns 1 to 22 of 303")).toHaveCount(0);
  await expect(page.getByTestId("saw-linked-turn")).toBeVisible();
  await page.getByRole("button", { name: "Show around turn 2" }).click();
  await expect(page.getByText("turns 1 to 22 of 303")).toBeVisible();

  // The link holds after a reload, and with the other choices of the page.
  await page.getByRole("button", { name: "Time", exact: true }).click();
  await expect(page).toHaveURL(/agent=.*turn=.*axis=time/);
  // The turn is in the HTML already.
  expect(await (await page.request.get(page.url())).text()).toContain("The link opens turn");
  await page.reload();
  await expect(page.getByTestId("saw-linked-turn")).toHaveAttribute("data-turn", "2");
  await expect(marked).toContainText("60,000");

  await page.getByRole("button", { name: "Show newest turns" }).click();
  await expect(page.getByTestId("log-turn").first()).toContainText("303");
  await expect(marked).toHaveCount(0);
  await expect(page.getByTestId("saw-linked-turn")).toHaveCount(0);
  await expect(page).toHaveURL(/agent=[^&]*&(?!.*turn=).*axis=time/);
});

test("an open alert is drawn to the end of the chart, and ends live", async ({ page, server, send }) => {
  await watchCeiling(server);
  await page.goto("/alerts");
  const agent = session();
  await send(agent.turns(10_000, 20_000, 30_000, 60_000, 61_000).take());
  const firing = page.getByRole("list", { name: "Firing alerts" });
  await firing.getByRole("link", { name: /fix the build/ }).click();
  await live(page);
  const span = page.locator("[data-alert-span]");
  await expect(span).toHaveAttribute("data-open", "true");
  await expect(span).toHaveAttribute("aria-label", /still open$/);
  const open = (await span.boundingBox())!;
  const plot = (await page.getByTestId("saw-path").boundingBox())!;
  expect(open.x + open.width).toBeGreaterThanOrEqual(plot.x + plot.width - 2);

  // By keyboard: the card opens with the focus, its link is the next stop, Escape closes it.
  await span.focus();
  const card = page.getByTestId("alert-card");
  await expect(card).toContainText("61,000 context tokens crossed the ceiling");
  expect(await violations(page), "with the card").toEqual([]);
  await page.keyboard.press("Tab");
  await expect(card.getByRole("link", { name: "View all alerts" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(card).toHaveCount(0);

  await page.mouse.move(0, 0);
  await send(agent.turns(25_000, 26_000, 27_000).take());
  await expect(span).toHaveAttribute("data-open", "false");
  await span.hover();
  await expect(card).toContainText("fell from 61k to 25k");
  // The pointer reaches the link.
  await card.getByRole("link", { name: "View all alerts" }).click();
  await expect(page).toHaveURL(/\/alerts\?/);
});

test("a link to an unknown turn or agent says so and shows the session", async ({
  page,
  send,
  expectedErrors,
}) => {
  expectedErrors.push(/status of 40[04]/);
  const main = session();
  const child = new EventBuilder({
    harness: "phantom@vm-1",
    session: "fix the build",
    agent: "reviewer",
    parent: "main",
    window: 200_000,
  });
  await send([...main.turns(10_000, 20_000).take(), ...child.turns(5_000).take()]);
  await page.goto("/sessions");
  await page.getByRole("link", { name: "fix the build" }).click();
  await page.getByTestId("agent").filter({ hasText: "reviewer" }).click();
  await expect(page).toHaveURL(/agent=/);
  const url = new URL(page.url());
  const notice = page.getByRole("status").filter({ hasText: "of this link" });

  for (const turn of ["77", "-9223372036854775808", "nonsense", "9".repeat(400)]) {
    url.searchParams.set("turn", turn);
    await page.goto(url.href);
    await expect(notice).toContainText("The turn of this link is not among the turns of reviewer");
    await expect(page.getByTestId("log-turn")).toHaveCount(1);
  }
  expect(await violations(page), "an unknown turn").toEqual([]);
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await expect(notice).toHaveCount(0);
  await expect(page).toHaveURL(/agent=(?!.*turn=)/);

  url.searchParams.set("agent", "0198f2aa-0000-7000-8000-000000000000");
  await page.goto(url.href);
  await expect(notice).toContainText("The agent of this link is not in this session");
  await expect(notice).toContainText("The page shows main");
  await expect(page.getByTestId("log-turn")).toHaveCount(2);
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await expect(notice).toHaveCount(0);

  // Without alerts there is neither a list nor a legend for them.
  await expect(page.getByRole("region", { name: "Alerts" })).toHaveCount(0);
  await expect(page.getByText(/ alert$/)).toHaveCount(0);
});

test("a backtest draws when the rule would have fired @phone", async ({ page, send }) => {
  await send(session().turns(20_000, 190_000, 20_000, 30_000, 195_000).take());
  await page.goto("/alerts");
  await page.getByRole("button", { name: "New rule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Nearly full");
  await dialog.getByLabel("Condition").selectOption("utilization");
  await dialog.getByLabel("Utilization at least (%)").fill("90");
  await dialog.getByRole("button", { name: "Backtest" }).click();
  await expect(dialog.getByTestId("backtest")).toContainText("Would have fired 2 times");
  await dialog
    .getByRole("button", { name: /^Show chart/ })
    .first()
    .click();
  const spans = dialog.locator("[data-alert-span]");
  await expect(spans).toHaveCount(2);
  await spans.first().focus();
  await expect(dialog.getByTestId("alert-card")).toContainText("would have ended after 1.0 s");
  expect(await violations(page), "the chart of the backtest").toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog.getByTestId("alert-card")).toHaveCount(0);
  await expect(dialog).toBeVisible();
  await dialog.getByRole("button", { name: /^Hide chart/ }).click();
  await expect(dialog.getByTestId("backtest-chart")).toHaveCount(0);
});
