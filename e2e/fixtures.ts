import { type Browser, type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { type IngestResult, PlimsollServer } from "./support/server.ts";

interface Servers {
  /** The one that most stories of a worker share; each keeps to a harness of its own. */
  shared(): Promise<PlimsollServer>;
}

interface Options {
  /** A server and an empty database for this story alone. */
  fresh: boolean;
}

interface StoryFixtures {
  server: PlimsollServer;
  /** Sends events with a key, as a harness does. */
  send: (events: readonly object[]) => Promise<IngestResult>;
  /** The name of a harness that no other story uses; `?harness=` keeps a page to it. */
  harness: string;
  /** Patterns of console errors that belong to the story; any other fails it. */
  expectedErrors: RegExp[];
  /** Runs the doctor after the story. */
  examined: undefined;
}

export const test = base.extend<Options & StoryFixtures, { servers: Servers }>({
  fresh: [false, { option: true }],

  servers: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of what a fixture needs from here
    async ({}, use) => {
      let shared: Promise<PlimsollServer> | undefined;
      await use({
        shared() {
          shared ??= PlimsollServer.start();
          return shared;
        },
      });
      await (await shared)?.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],

  server: async ({ servers, fresh }, use) => {
    if (!fresh) {
      await use(await servers.shared());
      return;
    }
    const own = await PlimsollServer.start();
    await use(own);
    await own.stop();
  },

  baseURL: async ({ server }, use) => use(server.url),

  storageState: async ({ server, browser }, use) => use(await loggedIn(server, browser)),

  send: async ({ server }, use) => use((events) => server.send(events)),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  harness: async ({}, use, info) => use(`story-${info.testId}@host`),

  // biome-ignore lint/correctness/noEmptyPattern: as above
  expectedErrors: async ({}, use) => use([]),

  page: async ({ page, expectedErrors }, use) => {
    const errors = listen(page);
    settleAfterLoading(page);
    await use(page);
    expect(
      errors.filter((error) => !expectedErrors.some((pattern) => pattern.test(error))),
      "errors in the browser",
    ).toEqual([]);
  },

  examined: [
    async ({ server }, use) => {
      await use(undefined);
      const { checks } = await server.doctor();
      expect(
        checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`),
        "what the doctor found",
      ).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/**
 * A page that streams in stands twice in the document for a moment: hidden, and then in its place. A story that looks
 * in that moment would find everything double.
 */
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

/** Everything that a page reports as wrong: uncaught errors, and errors on its console. */
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

/** Opens the printed link once for each server; the stories on it share the cookie. */
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

/** Waits until the page hears of changes: what is sent before might be seen by loading alone. */
export async function live(page: Page): Promise<void> {
  await expect(page.getByTestId("live").filter({ visible: true })).toHaveAttribute("data-state", "live");
}
