import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

// A page that hydrates with other text than its HTML has logs an error, and the fixture of `page` fails on any.

const CHUNKS = /\/_next\/static\/chunks\/[\w~.-]+\.js/g;

async function chunksOf(page: Page, path: string): Promise<Set<string>> {
  return new Set((await (await page.request.get(path)).text()).match(CHUNKS));
}

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
        return document.querySelectorAll("[data-testid=session-row]").length;
      }),
    )
    .toBeGreaterThan(20);
  await page.evaluate(() => window.scrollTo(0, 1_500));
  release();
  await expect(page.getByTestId("live").filter({ visible: true })).toHaveAttribute("data-state", "live");
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(1_500);
});

test("a frame that is ready first changes nothing of its page", { tag: "@own-server" }, async ({
  page,
  server,
}) => {
  const frame = await chunksOf(page, "/sessions");
  const own = [...(await chunksOf(page, "/setup"))].filter((chunk) => !frame.has(chunk));
  expect(own.length).toBeGreaterThan(0);
  // Else it still knows the projects.
  await server.end();
  await server.begin();
  const release = await holdScripts(page, (path) => own.includes(path));
  // The server renders the page without the projects, and the browser asks for them.
  const free = await server.lockTable("projects");
  const asked = page.waitForRequest(/\/api\/trpc\/[^?]*projects\.list/);
  await page.goto("/setup", { waitUntil: "commit" });
  await asked;
  const answered = page.waitForResponse(/\/api\/trpc\/[^?]*projects\.list/);
  await free();
  await answered;
  release();
  await expect(page.getByTestId("projects").getByRole("listitem")).toHaveCount(1);
  await expect(page.locator("main .skeleton")).toHaveCount(0);
});
