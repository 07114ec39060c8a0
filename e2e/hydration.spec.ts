import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

// A page that hydrates with other text than its HTML has logs an error, and the fixture of `page` fails on any.

/** Holds back scripts of a page until they are released. */
async function holdScripts(page: Page, isHeld: (path: string) => boolean): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/_next/static/chunks/**", async (route) => {
    if (isHeld(new URL(route.request().url()).pathname)) await released;
    await route.continue();
  });
  return release;
}

test("a list that is scrolled before it is hydrated begins with the rows of its HTML @phone", async ({
  page,
  server,
  send,
  harness,
}) => {
  const sessions = Array.from({ length: 60 }, (_, at) =>
    new EventBuilder({ harness, session: `session-${at}`, window: 200_000 }).turn(9_000).take(),
  );
  await send(sessions.flat());
  const release = await holdScripts(page, (path) => path.endsWith(".js"));
  await page.goto(server.inProject(`/sessions?harness=${harness}`), { waitUntil: "commit" });
  // React reveals what was streamed in the next frame, and nothing else asks for one.
  await expect
    .poll(() =>
      page.evaluate(async () => {
        await new Promise(requestAnimationFrame);
        return document.querySelectorAll("main [data-testid=session-row]").length;
      }),
    )
    .toBeGreaterThan(20);
  await page.evaluate(() => window.scrollTo(0, 1_500));
  release();
  await expect(page.getByTestId("live").filter({ visible: true })).toHaveAttribute("data-state", "live");
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(1_500);
});

test("pages hydrate with the text of their HTML while turns arrive and the processor is slow @phone", async ({
  page,
  send,
  harness,
}) => {
  const agent = new EventBuilder({ harness, session: "busy", window: 200_000, pace: 50 }).turn(9_000);
  await send(agent.take());
  const client = await page.context().newCDPSession(page);
  await client.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  let isLoading = true;
  const traffic = (async () => {
    while (isLoading) await send(agent.turn(9_000).take());
  })();
  try {
    for (const path of ["/setup", "/", "/sessions", "/alerts", "/policies", "/setup", "/setup"]) {
      await page.goto(path);
      await expect(page.getByTestId("live").filter({ visible: true })).toHaveAttribute("data-state", "live");
      await expect(page.locator("[data-hydrating]")).toHaveCount(0);
    }
  } finally {
    isLoading = false;
    await traffic;
  }
});
