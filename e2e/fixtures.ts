import { type Browser, type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { PlimsollServer } from "./support/server.ts";

interface Options {
  /** Judge the test's agents by `setLines`, instead of by the defaults of each harness. */
  lines: boolean;
}

interface TestFixtures {
  /** In a project that no other story uses. */
  server: PlimsollServer;
  /** Sends events with a key, as a harness does. */
  send: (events: readonly object[]) => Promise<IngestAnswer>;
  /** The name of a harness that no other story uses. */
  harness: string;
  /** Console errors the test expects. Any other console error fails the test. */
  expectedErrors: RegExp[];
}

interface WorkerFixtures {
  /** The server that the tests of a worker share. It starts with the first of them. */
  shared: () => Promise<PlimsollServer>;
}

/** Tag of tests that stop, kill or freeze their server, or count what all of it holds. */
const OWN_SERVER = "@own-server";

export const test = base.extend<Options & TestFixtures, WorkerFixtures>({
  lines: [true, { option: true }],

  shared: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the required fixtures from this pattern
    async ({}, use) => {
      let server: Promise<PlimsollServer> | undefined;
      await use(() => {
        // Stories receive alerts on this machine.
        server ??= PlimsollServer.start({ PLIMSOLL_WEBHOOK_ALLOW: "loopback" });
        return server;
      });
      await (await server)?.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],

  server: async ({ shared, lines }, use, { tags }) => {
    const ownServer = tags.includes(OWN_SERVER);
    const server = await (ownServer ? PlimsollServer.start() : shared());
    try {
      if (!ownServer) await server.enterProject();
      if (lines) await server.setLines();
      await use(server);
      expect(await server.failedChecks(), "failed checks of the doctor").toEqual([]);
    } finally {
      await (ownServer ? server.stop() : server.leaveProject());
    }
  },

  baseURL: async ({ server }, use) => use(server.url),

  storageState: async ({ server, browser }, use) => use(await loggedIn(server, browser)),

  send: async ({ server }, use) => use((events) => server.send(events)),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  harness: async ({}, use, info) => use(`test-${info.testId}@host`),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  expectedErrors: async ({}, use) => use([]),

  page: async ({ page, server, expectedErrors }, use) => {
    const errors = listen(page);
    openInProject(page, server);
    await use(page);
    // A request that a test answers itself may be under way, and fails with the page.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    expect(
      errors.filter((error) => !expectedErrors.some((pattern) => pattern.test(error))),
      "browser errors",
    ).toEqual([]);
  },
});

export { expect };

/**
 * Addresses of pages get the project of the test.
 * While React streams a page, its content is briefly in the document twice: waits until that is over.
 */
function openInProject(page: Page, server: PlimsollServer): void {
  const settled = () => page.waitForFunction(() => document.querySelector('div[hidden][id^="S:"]') === null);
  const goto = page.goto.bind(page);
  page.goto = async (url, options) => {
    const response = await goto(server.inProject(url), options);
    await settled();
    return response;
  };
  const reload = page.reload.bind(page);
  page.reload = async (...args) => {
    const response = await reload(...args);
    await settled();
    return response;
  };
}

/** Collects uncaught errors and console errors of a page. */
export function listen(page: Page): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
  });
  return errors;
}

type StorageState = Awaited<ReturnType<BrowserContext["storageState"]>>;
const cookies = new WeakMap<PlimsollServer, Promise<StorageState>>();

/** Opens the login link once per server; its tests share the cookie. */
function loggedIn(server: PlimsollServer, browser: Browser): Promise<StorageState> {
  let cookie = cookies.get(server);
  if (cookie === undefined) {
    cookie = (async () => {
      const context = await browser.newContext({ storageState: undefined });
      const page = await context.newPage();
      await page.goto(server.loginUrl);
      await page.waitForURL(`${server.url}/`);
      const state = await context.storageState();
      await context.close();
      return state;
    })();
    cookies.set(server, cookie);
  }
  return cookie;
}

/** Waits for the live connection. Events sent earlier could appear through the initial load alone. */
export async function live(page: Page): Promise<void> {
  await expect(page.getByTestId("live").filter({ visible: true })).toHaveAttribute("data-state", "live");
}

/** Presses two keys within the time of a shortcut, however long the machine takes for each. */
export async function chord(page: Page, ...keys: [string, string]): Promise<void> {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}
