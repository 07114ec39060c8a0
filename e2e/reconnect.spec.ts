import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ fresh: true });

test("a page outlives its server: it says so, and catches up by itself", async ({
  page,
  server,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/Failed to load resource: (net::ERR_|the server responded with a status of 503)/);
  const story = new EventBuilder({ harness, session: "steadfast", window: 200_000 }).turns(10_000, 12_000);
  await send(story.take());
  await page.goto("/");
  const tokens = page.getByTestId("context-tokens");
  await expect(tokens).toHaveText("12k");
  await live(page);
  // The charts are fetched when the page is there: what follows is about a page that was whole.
  await expect(page.locator("main .skeleton")).toHaveCount(0);

  await server.end();
  const state = page.getByTestId("live").filter({ visible: true });
  await expect(state).toHaveText("Reconnecting");
  // What was known stays on the page.
  await expect(tokens).toHaveText("12k");

  await server.begin();
  await send(story.turn(19_000).take());
  await expect(state).toHaveText("Live", { timeout: 60_000 });
  await expect(tokens).toHaveText("19k");
  // The cookie outlives the server too.
  await page.reload();
  await expect(tokens).toHaveText("19k");
});

test("a part of a page that could not be fetched is fetched when the server is back", async ({
  page,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_|ChunkLoadError|Failed to load chunk|status of 503/);
  await send(
    new EventBuilder({ harness, session: "in-parts", window: 200_000 }).turns(10_000, 12_000).take(),
  );
  // What a page fetches once it runs, as opposed to what its HTML names, does not arrive.
  let away = true;
  let document = "";
  await page.route("**/_next/static/chunks/**", async (route) => {
    if (away && !document.includes(new URL(route.request().url()).pathname)) await route.abort();
    else await route.continue();
  });
  document = await (await page.request.get("/")).text();
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "A part of this page is missing" })).toBeVisible();
  away = false;
  await expect(page.getByTestId("context-tokens")).toHaveText("12k");
  await expect(page.locator("main .skeleton")).toHaveCount(0);
});
