import { type Browser, type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { PlimsollServer } from "./support/server.ts";

interface Servers {
  /** The server shared by the tests of a worker. Each test uses its own harness. */
  shared(): Promise<PlimsollServer>;
  /** A server that only the tests of a file share. */
  ofFile(file: string): Promise<PlimsollServer>;
}

interface Options {
  /** Give the test, or all tests of its file, a server with an empty database. */
  fresh: false | "test" | "file";
  /** Settings of that server. */
  env: Record<string, string>;
}

interface TestFixtures {
  server: PlimsollServer;
  /** Sends events with a key, as a harness does. */
  send: (events: readonly object[]) => Promise<IngestAnswer>;
  /** The name of a harness that no other story uses; `?harness=` keeps a page to it. */
  harness: string;
  /** Console errors the test expects. Any other console error fails the test. */
  expectedErrors: RegExp[];
  /** Runs `doctor` after the test. */
  examined: undefined;
}

export const test = base.extend<Options & TestFixtures, { servers: Servers }>({
  fresh: [false, { option: true }],
  env: [{}, { option: true }],

  servers: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the required fixtures from this pattern
    async ({}, use) => {
      let shared: Promise<PlimsollServer> | undefined;
      let ofFile: { file: string; server: PlimsollServer } | undefined;
      await use({
        shared() {
          shared ??= startShared();
          return shared;
        },
        async ofFile(file) {
          if (ofFile?.file !== file) {
            await ofFile?.server.stop();
            ofFile = { file, server: await PlimsollServer.start() };
          }
          return ofFile.server;
        },
      });
      await (await shared)?.stop();
      await ofFile?.server.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],

  server: async ({ servers, fresh, env }, use, info) => {
    if (fresh !== "test") {
      await use(await (fresh ? servers.ofFile(info.file) : servers.shared()));
      return;
    }
    const own = await PlimsollServer.start(env);
    await use(own);
    await own.stop();
  },

  baseURL: async ({ server }, use) => use(server.url),

  storageState: async ({ server, browser }, use) => use(await loggedIn(server, browser)),

  send: async ({ server }, use) => use((events) => server.send(events)),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  harness: async ({}, use, info) => use(`test-${info.testId}@host`),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  expectedErrors: async ({}, use) => use([]),

  page: async ({ page, expectedErrors }, use) => {
    const errors = listen(page);
    settleAfterLoading(page);
    await use(page);
    // A request that a test answers itself may be under way, and fails with the page.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    expect(
      errors.filter((error) => !expectedErrors.some((pattern) => pattern.test(error))),
      "browser errors",
    ).toEqual([]);
  },

  examined: [
    async ({ server }, use) => {
      await use(undefined);
      expect(await server.failedChecks(), "failed checks of the doctor").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

async function startShared(): Promise<PlimsollServer> {
  const server = await PlimsollServer.start();
  await server.setLines();
  return server;
}

/** While React streams a page, its content is briefly in the document twice. Waits until that is over. */
function settleAfterLoading(page: Page): void {
  const settled = () => page.waitForFunction(() => document.querySelector('div[hidden][id^="S:"]') === null);
  const goto = page.goto.bind(page);
  page.goto = async (...args) => {
    const response = await goto(...args);
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
