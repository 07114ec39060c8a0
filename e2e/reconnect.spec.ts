import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ lines: false });
test.slow();

test("a page shows a lost server and catches up after a restart", { tag: "@own-server" }, async ({
  page,
  server,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/Failed to load resource: (net::ERR_|the server responded with a status of 503)/);
  const agent = new EventBuilder({ harness, session: "steadfast", window: 200_000 }).turns(10_000, 12_000);
  await send(agent.take());
  await page.goto("/");
  const tokens = page.getByTestId("context-tokens");
  await expect(tokens).toHaveText("12k");
  await live(page);
  // Wait for the chart chunks, so that only the live stream fails below.
  await expect(page.locator("main .skeleton")).toHaveCount(0);

  await server.end();
  const state = page.getByTestId("live").filter({ visible: true });
  await expect(state).toContainText("Server down");
  // Known numbers stay on the page.
  await expect(tokens).toHaveText("12k");

  await server.begin();
  await send(agent.turn(19_000).take());
  await expect(state).toHaveText("Live");
  await expect(tokens).toHaveText("19k");
  // The session cookie survives the restart.
  await page.reload();
  await expect(tokens).toHaveText("19k");
});

test("a page whose script chunk failed to load reloads when the server is back", async ({
  page,
  server,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_|ChunkLoadError|Failed to load chunk|status of 503/);
  await send(
    new EventBuilder({ harness, session: "in-parts", window: 200_000 }).turns(10_000, 12_000).take(),
  );
  // Block the chunks loaded on demand, but not those named in the HTML.
  let blocked = true;
  let document = "";
  await page.route("**/_next/static/chunks/**", async (route) => {
    if (blocked && !document.includes(new URL(route.request().url()).pathname)) await route.abort();
    else await route.continue();
  });
  document = await (await page.request.get(server.inProject("/"))).text();
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Part of this page failed to load" })).toBeVisible();
  blocked = false;
  await expect(page.getByTestId("context-tokens")).toHaveText("12k");
  await expect(page.locator("main .skeleton")).toHaveCount(0);
});
