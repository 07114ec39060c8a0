import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, type BrowserContext, chromium, type Page } from "@playwright/test";
import type { SessionPage } from "@plimsoll/protocol/api";
import { type LargeFleet, largeFleet } from "../examples/large-fleet/history.ts";
import { letThemWork, sendAll, targetOf } from "../examples/large-fleet/send-fleet.ts";
import { findChromium } from "../scripts/chromium.ts";
import { settle } from "./database.ts";
import { seedLongHistory } from "./long-history.ts";
import {
  type BenchContext,
  type BenchGroup,
  type Measurement,
  percentileOf,
  rounded,
} from "./measurement.ts";
import { measureLatency } from "./pages.ts";
import { keepBusy, owned } from "./processes.ts";
import { type BenchServer, makeHome, startServer } from "./server.ts";

const PAGES = ["fleet", "sessions", "session", "login"] as const;
type PageName = (typeof PAGES)[number];

/** Slower than the machine, as a phone or an old laptop is. */
const CPU_THROTTLE = 4;
/** Loads of each page; a row is their median. */
const LOADS = 5;
/** Milliseconds without a request after which a page counts as loaded. */
const QUIET_MS = 1_500;
const DAY_MS = 86_400_000;
/** Until a page has loaded all that it needs, ms. */
const SETTLE_MS = 4_000;
/** How long an open page is watched, ms. */
const WATCHED_MS = 20_000;
/** Events of the longest session: over 100,000 of them are turns. */
const LONG_EVENTS = 105_000;
const LIVE_ROWS = ["live.large", "live.shared", "live.cpu", "live.tasks"] as const;

/** The dashboard with 300 sessions, one of them with 1,000 turns, and 30 agents at work. */
export const pageSpeed: BenchGroup = {
  names: [
    ...PAGES.map((name) => `script.${name}`),
    ...PAGES.map((name) => `lcp.${name}`),
    "interaction.fleet",
    "interaction.sessions",
    "interaction.session",
    ...LIVE_ROWS,
    "open.long",
  ],
  async *run(context) {
    const executablePath = findChromium();
    if (executablePath === undefined) {
      context.note("The rows of pages are skipped: no Chromium found. Set PLIMSOLL_CHROMIUM to its path.");
      return;
    }
    const home = await makeHome();
    try {
      const server = await startServer({ home, pages: true });
      const key = await server.makeKey("ingest");
      const fleet = largeFleet({ run: "bench", now: Date.now() });
      context.note(`page speed: ${fleet.history.length} events ...`);
      await sendAll(targetOf(server.url, key), fleet.history);
      const browser = await chromium.launch({
        executablePath,
        args: ["--disable-gpu", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
      });
      const close = owned(() => browser.close());
      try {
        yield* measurePages(context, server, browser);
        if (LIVE_ROWS.some((name) => context.wanted(name)))
          yield* measureLive(context, { server, browser, key, fleet });
        if (context.wanted("open.long")) {
          context.note(`open.long: ${LONG_EVENTS} events of one agent ...`);
          await seedLongHistory(server, key, LONG_EVENTS);
          await home.sql(settle);
          yield await openLong(server, browser);
        }
      } finally {
        await close();
      }
      await server.stop();
    } finally {
      await home.remove();
    }
  },
};

async function* measurePages(
  context: BenchContext,
  server: BenchServer,
  browser: Browser,
): AsyncGenerator<Measurement> {
  const paths = await pathsOf(server);
  const visitor = await signedIn(server, browser);
  const guest = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  for (const name of PAGES) {
    const own = name === "login" ? guest : visitor;
    const address = `${server.url}${paths[name]}`;
    if (context.wanted(`script.${name}`)) {
      context.note(`script.${name} ...`);
      yield await scriptBytes(own, name, address);
    }
    if (context.wanted(`lcp.${name}`)) {
      context.note(`lcp.${name} ...`);
      yield await largestPaint(own, name, address);
    }
    if (name !== "login" && context.wanted(`interaction.${name}`)) {
      context.note(`interaction.${name} ...`);
      yield await interactions(own, name, address);
    }
  }
}

async function pathsOf(server: BenchServer): Promise<Record<PageName, string>> {
  const to = new Date(Date.now() + 60_000).toISOString();
  const from = new Date(Date.now() - 30 * DAY_MS).toISOString();
  const { items } = await server.query<SessionPage>("sessions.list", {
    from,
    to,
    q: "past-bench-0",
    limit: 1,
  });
  const [longest] = items;
  if (longest === undefined) throw new Error("The session with 1,000 turns is missing.");
  return {
    fleet: "/?range=7d",
    sessions: "/sessions?range=7d",
    session: `/sessions/${longest.id}`,
    login: "/login",
  };
}

async function signedIn(server: BenchServer, browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const { url } = await server.mutate<{ url: string }>("login.create");
  await page.goto(url);
  await page.waitForURL(`${server.url}/`);
  await page.close();
  return context;
}

/** Waits until no request has begun or ended for a while. The live stream stays open. */
async function quiet(page: Page): Promise<void> {
  let last = performance.now();
  const note = () => {
    last = performance.now();
  };
  page.on("request", note).on("requestfinished", note);
  while (performance.now() - last < QUIET_MS) await sleep(100);
}

/**
 * Bytes of the scripts that the page names, as they are transferred (Brotli), with an empty cache. `later_kb` are those that it
 * loads by itself afterwards, such as charts.
 */
async function scriptBytes(context: BrowserContext, name: PageName, address: string): Promise<Measurement> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  const answer = await page.goto(address);
  const document = await answer!.text();
  await quiet(page);
  const scripts = await page.evaluate(() =>
    (performance.getEntriesByType("resource") as PerformanceResourceTiming[])
      .map(({ name, encodedBodySize, decodedBodySize }) => ({
        path: new URL(name).pathname,
        encodedBodySize,
        decodedBodySize,
      }))
      .filter(({ path }) => path.endsWith(".js")),
  );
  await page.close();
  const named = scripts.filter(({ path }) => document.includes(path));
  const kilobytes = (of: typeof scripts, size: "encodedBodySize" | "decodedBodySize") =>
    rounded(of.reduce((sum, script) => sum + script[size], 0) / 1e3);
  return {
    name: `script.${name}`,
    value: kilobytes(named, "encodedBodySize"),
    unit: "kB",
    later_kb: rounded(kilobytes(scripts, "encodedBodySize") - kilobytes(named, "encodedBodySize")),
    decoded_kb: kilobytes(named, "decodedBodySize"),
  };
}

async function throttled(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await slowDown(page);
  return page;
}

async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_THROTTLE });
}

const median = (values: number[]) => percentileOf(values, 0.5);

async function largestPaint(context: BrowserContext, name: PageName, address: string): Promise<Measurement> {
  const times: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const page = await throttled(context);
    await page.goto(address);
    await quiet(page);
    times.push(
      await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            new PerformanceObserver((list) => resolve(list.getEntries().at(-1)!.startTime)).observe({
              type: "largest-contentful-paint",
              buffered: true,
            });
          }),
      ),
    );
    await page.close();
  }
  return { name: `lcp.${name}`, value: rounded(median(times)), unit: "ms", max_ms: rounded(times.at(-1)!) };
}

/** What a reader does on each page, by keyboard: opening the range, moving between rows, opening the search. */
const KEYS: Readonly<Record<Exclude<PageName, "login">, readonly string[]>> = {
  fleet: ["Control+k", "a", "Escape", "ArrowDown", "ArrowDown", "ArrowDown", "?", "Escape"],
  sessions: ["/", "b", "i", "l", "Escape", "Control+k", "Escape", "?", "Escape"],
  session: ["Control+k", "a", "Escape", "Tab", "Tab", "Tab", "ArrowRight", "?", "Escape"],
};

/** The longest time from a key to the next paint, as `Interaction to Next Paint` measures it. */
async function interactions(
  context: BrowserContext,
  name: Exclude<PageName, "login">,
  address: string,
): Promise<Measurement> {
  const worst: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const page = await throttled(context);
    await page.addInitScript(() => {
      const times: number[] = [];
      Object.assign(globalThis, { interactionTimes: times });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          if ((entry as PerformanceEventTiming & { interactionId: number }).interactionId > 0) {
            times.push(entry.duration);
          }
        }
      }).observe({ type: "event", durationThreshold: 16, buffered: true } as PerformanceObserverInit);
    });
    await page.goto(address);
    await quiet(page);
    for (const key of KEYS[name]) {
      await page.keyboard.press(key);
      await sleep(400);
    }
    const times = await page.evaluate(
      () => (globalThis as unknown as { interactionTimes: number[] }).interactionTimes,
    );
    worst.push(Math.max(0, ...times));
    await page.close();
  }
  return {
    name: `interaction.${name}`,
    value: rounded(median(worst)),
    unit: "ms",
    max_ms: rounded(worst.at(-1)!),
  };
}

/** From the request for the page of a session until its chart is on screen. */
async function openLong(server: BenchServer, browser: Browser): Promise<Measurement> {
  const range = { from: new Date(0).toISOString(), to: new Date().toISOString() };
  const { items } = await server.query<SessionPage>("sessions.list", { ...range, sort: "turns", limit: 1 });
  const { id, turns } = items[0]!;
  const context = await signedIn(server, browser);
  const times: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const page = await context.newPage();
    await page.goto(`${server.url}/sessions/${id}`, { waitUntil: "commit" });
    await page.waitForFunction(() => document.querySelector("[data-testid=saw-path]") !== null);
    times.push(
      await page.evaluate(
        () => new Promise<number>((resolve) => requestAnimationFrame(() => resolve(performance.now()))),
      ),
    );
    await page.close();
  }
  const first = times[0]!;
  return {
    name: "open.long",
    value: rounded(median(times)),
    unit: "ms",
    first_ms: rounded(first),
    max_ms: rounded(times.at(-1)!),
    turns,
  };
}

interface LiveParts {
  server: BenchServer;
  browser: Browser;
  key: string;
  fleet: LargeFleet;
}

/** An open Fleet page while its agents work. */
async function* measureLive(
  context: BenchContext,
  { server, browser, key, fleet }: LiveParts,
): AsyncGenerator<Measurement> {
  const stop = new AbortController();
  const work = letThemWork({
    target: targetOf(server.url, key),
    agents: fleet.live.slice(1),
    durationMs: 10 * 60_000,
    signal: stop.signal,
  });
  try {
    const visitor = await signedIn(server, browser);
    for (const name of LIVE_ROWS) {
      if (!context.wanted(name)) continue;
      context.note(`${name} ...`);
      // Alone: an open page works with each turn.
      const page = await visitor.newPage();
      yield await LIVE[name]({ server, browser, key, page });
      await page.close();
    }
  } finally {
    stop.abort();
    await work;
  }
}

interface WatchedTasks {
  /** Tasks of the main thread of 50 ms or more. */
  tasks: { startTime: number; duration: number }[];
  /** When a chart came or changed, ms of the page's clock: within the task that drew it. */
  drawnAt: number[];
}

/** Runs in the page. */
function watchTasks(chart: string): void {
  const watched: WatchedTasks = { tasks: [], drawnAt: [] };
  Object.assign(globalThis, { watched });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) watched.tasks.push({ startTime, duration });
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver((changes) => {
    const draws = changes.some(
      ({ target, addedNodes }) =>
        (target instanceof Element && target.closest(chart) !== null) ||
        [...addedNodes].some(
          (node) => node instanceof Element && (node.matches(chart) || node.querySelector(chart) !== null),
        ),
    );
    if (draws) watched.drawnAt.push(performance.now());
  }).observe(document, { subtree: true, childList: true, attributes: true });
}

type LiveMeasure = (parts: Omit<LiveParts, "fleet"> & { page: Page }) => Promise<Measurement>;

const LIVE: Readonly<Record<(typeof LIVE_ROWS)[number], LiveMeasure>> = {
  /** From the acknowledgement of an event to its number on the page. */
  "live.large": ({ server, key, page }) => measureLatency("live.large", { server, page, key }),

  /** The same beside processes that compute without end, one more than the machine has cores. */
  "live.shared": async ({ server, key, page }) => {
    const processes = cpus().length + 1;
    const endComputing = keepBusy(processes);
    try {
      const measured = await measureLatency("live.shared", { server, page, key });
      return { ...measured, busy_processes: processes };
    } finally {
      await endComputing();
    }
  },

  /** CPU time of the page's process, with the rows of all agents and as the page opens. */
  "live.cpu": async ({ server, browser, page }) => {
    const session = await browser.newBrowserCDPSession();
    const used = async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      return processInfo
        .filter(({ type }) => type === "renderer")
        .reduce((sum, { cpuTime }) => sum + cpuTime, 0);
    };
    const percent = async (path: string) => {
      await page.goto(`${server.url}${path}`);
      await sleep(SETTLE_MS);
      const [before, started] = [await used(), performance.now()];
      await sleep(WATCHED_MS);
      return rounded((((await used()) - before) / (performance.now() - started)) * 1e5, 1);
    };
    return {
      name: "live.cpu",
      value: await percent("/?agents=all"),
      unit: "% of a core",
      as_opened_percent: await percent("/"),
    };
  },

  /** The longest task of the main thread, and the longest that draws a chart, on a machine that is slowed down. */
  "live.tasks": async ({ server, page }) => {
    await slowDown(page);
    await page.addInitScript(watchTasks, '[data-testid="plot"]');
    const longest = async () => {
      const { tasks, drawnAt } = await page.evaluate(() => {
        const { watched } = globalThis as unknown as { watched: WatchedTasks };
        return { tasks: watched.tasks.splice(0), drawnAt: watched.drawnAt.splice(0) };
      });
      if (drawnAt.length === 0) throw new Error("No chart was drawn.");
      const drawing = tasks.filter(({ startTime, duration }) =>
        drawnAt.some((at) => at >= startTime && at <= startTime + duration),
      );
      const [charts, any] = [drawing, tasks].map((some) =>
        Math.max(0, ...some.map(({ duration }) => duration)),
      );
      return { charts: charts!, any: any! };
    };
    await page.goto(`${server.url}/`);
    await page.getByTestId("plot").nth(1).waitFor();
    await sleep(SETTLE_MS);
    const loading = await longest();
    await sleep(WATCHED_MS);
    const live = await longest();
    return {
      name: "live.tasks",
      value: rounded(Math.max(loading.any, live.any)),
      unit: "ms",
      loading_ms: rounded(loading.any),
      live_ms: rounded(live.any),
      charts_ms: rounded(Math.max(loading.charts, live.charts)),
    };
  },
};
