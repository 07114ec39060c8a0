import type { Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { startStreamProxy } from "./support/stream-proxy.ts";

test.use({ lines: false });
// They stop and start servers, which takes a busy machine a while.
test.slow();

const OUTAGE_ERRORS = /net::ERR_|status of 50[034]|Failed to fetch/;
const banner = (page: Page) => page.getByTestId("outage");
const tokens = (page: Page) => page.getByTestId("context-tokens");
const link = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Main" }).getByRole("link", { name });
const title = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

/** The page must say so within 5 s; the rest is for a busy machine. */
const SOON = { timeout: 15_000 };

test("a frozen database is named within seconds, and the page catches up without a reload @phone", {
  tag: "@own-server",
}, async ({ page, server, send, harness, expectedErrors }) => {
  expectedErrors.push(OUTAGE_ERRORS);
  const agent = new EventBuilder({ harness, session: "frozen", window: 200_000 }).turns(10_000, 12_000);
  await send(agent.take());
  await page.goto("/");
  await expect(tokens(page)).toHaveText("12k");
  await live(page);
  await expect(page.locator("main .skeleton")).toHaveCount(0);

  const thaw = await server.freezeDatabase();
  try {
    await expect(banner(page)).toHaveAttribute("data-state", "database_down", SOON);
    await expect(banner(page)).toContainText(/The database does not answer. Down since \d\d:\d\d:\d\d/);
    await expect(page.locator("[data-stale]")).toHaveCount(1);
    await expect(page.getByTestId("stale").first()).toHaveText(/as of \d\d:\d\d:\d\d/);
    // Known numbers stay, and the app can still be used.
    await expect(tokens(page)).toHaveText("12k");
    expect(await violations(page)).toEqual([]);
    await link(page, "Sessions").click();
    await expect(title(page, "Sessions")).toBeVisible();
    await expect(page.getByText("The database does not answer. Try again.").first()).toBeVisible(SOON);
    await expect(banner(page)).toBeVisible();

    // A page that is loaded now has its frame, placeholders and then the reason.
    await page.goto("/");
    await expect(title(page, "Fleet")).toBeVisible();
    await expect(banner(page)).toHaveAttribute("data-state", "database_down", SOON);
    await expect(page.getByText("Failed to load the fleet")).toBeVisible(SOON);
  } finally {
    thaw();
  }
  await expect(banner(page)).toBeHidden();
  await expect(tokens(page)).toHaveText("12k");
  await live(page);
  await send(agent.turn(19_000).take());
  await expect(tokens(page)).toHaveText("19k");
});

test("a stopped server is named within seconds, and links wait for it instead of leaving the app", {
  tag: "@own-server",
}, async ({ page, server, send, harness, expectedErrors }) => {
  expectedErrors.push(OUTAGE_ERRORS);
  const agent = new EventBuilder({ harness, session: "stopped", window: 200_000 }).turns(10_000, 12_000);
  await send(agent.take());
  await page.goto("/");
  await expect(tokens(page)).toHaveText("12k");
  await live(page);
  await expect(page.locator("main .skeleton")).toHaveCount(0);

  await server.end();
  await expect(banner(page)).toHaveAttribute("data-state", "server_down", SOON);
  await expect(banner(page)).toContainText(/has not responded since \d\d:\d\d:\d\d/);
  await expect(page.locator("[data-stale]")).toHaveCount(1);
  await expect(tokens(page)).toHaveText("12k");

  await link(page, "Sessions").click();
  await expect(page.getByTestId("blocked-page")).toContainText("Sessions opens when the server responds");
  await expect(banner(page)).toBeVisible();
  // The link to the open page leads back to its numbers.
  await link(page, "Fleet").click();
  await expect(page.getByTestId("blocked-page")).toBeHidden();
  await expect(tokens(page)).toBeVisible();
  await link(page, "Sessions").click();
  await expect(page.getByTestId("blocked-page")).toBeVisible();

  await server.begin();
  await expect(title(page, "Sessions")).toBeVisible();
  await expect(page.getByTestId("blocked-page")).toBeHidden();
  await expect(page).toHaveURL(/\/sessions/);
  await expect(banner(page)).toBeHidden(SOON);
  await link(page, "Fleet").click();
  await send(agent.turn(19_000).take());
  await expect(tokens(page)).toHaveText("19k");
});

test("a silent stream is named, numbers are polled, and a restored stream takes over", async ({
  page,
  server,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(OUTAGE_ERRORS);
  const agent = new EventBuilder({ harness, session: "cut", window: 200_000 }).turns(10_000, 12_000);
  await send(agent.take());
  const proxy = await startStreamProxy(server.port);
  try {
    await page.goto(proxy.url + server.inProject("/"));
    await expect(tokens(page)).toHaveText("12k");
    await live(page);

    proxy.cutStreams();
    await expect(banner(page)).toHaveAttribute("data-state", "stream_cut", SOON);
    await expect(banner(page)).toContainText(/Live updates have been interrupted since \d\d:\d\d:\d\d/);
    await expect(page.locator("[data-stale]")).toHaveCount(1);
    await send(agent.turn(17_000).take());
    await expect(tokens(page)).toHaveText("17k");

    proxy.restore();
    await live(page);
    await expect(banner(page)).toBeHidden();
    await send(agent.turn(19_000).take());
    await expect(tokens(page)).toHaveText("19k");
  } finally {
    await proxy.stop();
  }
});

test("a page that opens while the stream is blocked says so", async ({ page, server, send, harness }) => {
  await send(new EventBuilder({ harness, session: "blocked", window: 200_000 }).turns(10_000, 12_000).take());
  const proxy = await startStreamProxy(server.port);
  try {
    proxy.cutStreams();
    await page.goto(proxy.url + server.inProject("/"));
    await expect(tokens(page)).toHaveText("12k");
    await expect(banner(page)).toHaveAttribute("data-state", "stream_cut", SOON);
  } finally {
    await proxy.stop();
  }
});
