import { expect, listen, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

function sessions(harness: string) {
  const eventsFor = (session: string, kind: string, title: string, model: string, ...levels: number[]) =>
    new EventBuilder({ harness, session, model, window: 200_000 })
      .event("session", { status: "started", kind, title })
      .turns(...levels);
  return [
    eventsFor("t-1", "conversation", "Summarise incident 418", "claude-opus-4-6", 9_000, 12_000),
    eventsFor("l-1", "loop", "Refactor billing webhooks", "claude-opus-4-6", 20_000, 44_000),
    eventsFor("l-2", "loop", "Nightly dependency sweep", "qwen3-coder", 12_000, 30_000),
    eventsFor("p-1", "phase", "Plan the incident review", "claude-opus-4-6", 5_000).event("session", {
      status: "ended",
      reason: "done",
    }),
  ].flatMap((agent) => agent.take());
}

test("search, filters and sorting are in the URL and open in another browser", async ({
  page,
  send,
  harness,
  browser,
  storageState,
}) => {
  await send(sessions(harness));
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(4);
  await expect(page.getByTestId("session-count")).toHaveText("4 sessions");

  const search = page.getByRole("searchbox", { name: "Search sessions" });
  await search.fill("incident");
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/q=incident/);
  await search.fill("qwen3");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Nightly dependency sweep");
  await search.fill("nothing is called this");
  await expect(page.getByTestId("empty")).toContainText("No matching sessions");
  await page.getByRole("button", { name: "Clear filters" }).first().click();
  await expect(search).toHaveValue("");

  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("option", { name: "loop", exact: true }).click();
  await expect(rows).toHaveCount(2);
  const load = page.getByRole("columnheader", { name: "Load", exact: true }).getByRole("button");
  await load.click();
  await expect(page).toHaveURL(/sort=load/);
  await expect(rows).toHaveText([/Refactor billing webhooks/, /Nightly dependency sweep/]);
  await load.click();
  await expect(rows).toHaveText([/Nightly dependency sweep/, /Refactor billing webhooks/]);

  const elsewhere = await browser.newContext({ storageState });
  const other = await elsewhere.newPage();
  const errors = listen(other);
  await other.goto(page.url());
  await expect(other.getByTestId("session-row")).toHaveText([
    /Nightly dependency sweep/,
    /Refactor billing webhooks/,
  ]);
  await expect(other.getByRole("list", { name: "Filters" })).toContainText("Kind loop");
  await expect(other.getByRole("columnheader", { name: "Load", exact: true })).toHaveAttribute(
    "aria-sort",
    "ascending",
  );
  expect(errors).toEqual([]);
  await elsewhere.close();

  await page.getByRole("button", { name: "Remove filter Kind" }).click();
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("option", { name: "ended", exact: true }).click();
  await expect(rows).toHaveText([/Plan the incident review/]);
});

test("Share copies a link to the same agent and axis", async ({ page, context, send, harness }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const shared = { harness, session: "to-share", window: 200_000 };
  await send([
    ...new EventBuilder(shared).turns(20_000, 24_000).take(),
    ...new EventBuilder({ ...shared, agent: "helper", parent: "main" }).turns(6_000, 7_000).take(),
  ]);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "to-share" }).click();
  await page.getByTestId("agent").filter({ hasText: "helper" }).click();
  await page.getByRole("button", { name: "Time", exact: true }).click();
  await expect(page).toHaveURL(/axis=time/);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByText("Link copied. It opens this view.")).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto("/");
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "Turns of helper" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Time", exact: true })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
});

test("the range stays the same across pages", async ({ page, send, harness }) => {
  const yesterday = Date.now() - 30 * 3_600_000;
  await send(
    new EventBuilder({ harness, session: "long-ago", window: 200_000, start: yesterday }).turns(9_000).take(),
  );
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("empty")).toContainText("No matching sessions");
  await page.getByTestId("range").click();
  await page.getByRole("button", { name: "Last 7 days" }).click();
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Fleet" }).click();
  await expect(page).toHaveURL(/range=7d/);
  await expect(page.getByTestId("range")).toContainText("Last 7 days");
});

test("a day of the calendar is a range", async ({ page, send, harness }) => {
  const noon = new Date();
  noon.setUTCHours(-12, 0, 0, 0);
  await send(
    new EventBuilder({ harness, session: "of-yesterday", window: 200_000, start: noon.getTime() })
      .turns(9_000)
      .take(),
  );
  await page.goto(`/sessions?harness=${harness}`);
  const choose = async (name: string) => {
    await page.getByTestId("range").click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  await choose("Today");
  await expect(page.getByTestId("empty")).toContainText("No matching sessions");
  await choose("Yesterday");
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  await expect(page).toHaveURL(new RegExp(`range=${noon.toISOString().slice(0, 10)}T00:00:00`));
});

test("the session that cost most is found, and the one that missed the cache most", async ({
  page,
  send,
  harness,
}) => {
  const session = (name: string, cost: number | undefined, cached: number) => {
    const agent = new EventBuilder({ harness, session: name, window: 200_000, model: "without-a-price" });
    for (const tokens of [40_000, 60_000])
      agent.turn(tokens, {
        usage: {
          input_tokens: tokens - cached,
          cache_read_tokens: cached,
          output_tokens: 10,
          basis: "exclusive",
        },
        ...(cost !== undefined && { cost_usd: cost }),
      });
    return agent.take();
  };
  await send([
    ...session("cheap", 0.02, 39_000),
    ...session("dear", 1.25, 30_000),
    ...session("free", undefined, 1_000),
  ]);
  await page.goto(`/sessions?harness=${harness}`);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(3);
  await page.getByRole("columnheader", { name: "Cost", exact: true }).getByRole("button").click();
  await expect(rows.nth(0)).toContainText("dear");
  await expect(rows.nth(0)).toContainText("$2.50");
  await expect(rows.nth(1)).toContainText("$0.0400");
  await expect(rows.nth(2)).toContainText("free");
  await page.goto(`/sessions?harness=${harness}&sort=uncached_tokens`);
  await expect(rows).toContainText(["free", "dear", "cheap"]);
});
