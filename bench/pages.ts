import { setTimeout as sleep } from "node:timers/promises";
import { chromium, type Page } from "@playwright/test";
import type { FleetAgent, FleetView } from "@plimsoll/protocol/api";
import { findChromium } from "../scripts/chromium.ts";
import { busyFleet } from "./ingest.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { owned, residentBytes, sendLoad } from "./processes.ts";
import { type BenchServer, makeHome, startServer } from "./server.ts";

const PROBES = 40;
/** Longest wait until a number changes, ms. */
const PROBE_LIMIT = 10_000;
const SETTLE = 10_000;
const LOAD = 10_000;
const SAMPLE = 200;

/** Memory of a server with its pages. */
export const memory: BenchGroup = {
  names: ["memory.idle", "memory.load"],
  async *run(context) {
    const home = await makeHome();
    try {
      const server = await startServer({ home, pages: true });
      await fetch(`${server.url}/login`).then((response) => response.text());
      if (context.wanted("memory.idle")) {
        context.note("memory.idle ...");
        await sleep(SETTLE);
        yield megabytes("memory.idle", residentBytes(server.pid));
      }
      if (context.wanted("memory.load")) {
        context.note("memory.load ...");
        yield megabytes("memory.load", await peakUnderLoad(server));
      }
      await server.stop();
    } finally {
      await home.remove();
    }
  },
};

export const live: BenchGroup = {
  names: ["live.latency"],
  async *run(context) {
    const executablePath = findChromium();
    if (executablePath === undefined) {
      context.note("live.latency is skipped: no Chromium found. Set PLIMSOLL_CHROMIUM to its path.");
      return;
    }
    context.note("live.latency ...");
    const home = await makeHome();
    try {
      const server = await startServer({ home, pages: true });
      yield await latency(server, executablePath);
      await server.stop();
    } finally {
      await home.remove();
    }
  },
};

function megabytes(name: string, bytes: number): Measurement {
  return { name, value: rounded(bytes / 1e6), unit: "MB" };
}

async function peakUnderLoad(server: BenchServer): Promise<number> {
  const key = await server.makeKey("ingest");
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(server.pid));
  }, SAMPLE);
  try {
    await sendLoad({
      targets: [{ port: server.port, key }],
      fleet: busyFleet(8, 1_200_000, 31),
      batch: 500,
      requests: 2_400,
      ready: true,
      warmUp: 0,
      counted: LOAD,
    });
  } finally {
    clearInterval(timer);
  }
  return peak;
}

/** Milliseconds from the acknowledgement of an event until an open page shows its number. */
async function latency(server: BenchServer, executablePath: string): Promise<Measurement> {
  const key = await server.makeKey("ingest");
  await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: busyFleet(4, 20_000, 32),
    batch: 500,
    requests: 40,
    ready: false,
    warmUp: 0,
    counted: 60_000,
  });
  const browser = await chromium.launch({
    executablePath,
    // Chromium refuses its sandbox to root.
    args: ["--disable-gpu", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
  });
  const close = owned(() => browser.close());
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    const { url } = await server.mutate<{ url: string }>("login.create");
    await page.goto(url);
    await page.getByTestId("fleet-row").first().waitFor({ timeout: 60_000 });
    return await measureLatency("live.latency", { server, page, key });
  } finally {
    await close();
  }
}

/** The time from the acknowledgement of an event until an open Fleet page shows its number. The page is logged in. */
export async function measureLatency(
  name: string,
  { server, page, key }: { server: BenchServer; page: Page; key: string },
): Promise<Measurement> {
  // By default the page shows only the fullest agents of a large fleet.
  await page.goto(`${server.url}/?agents=all`);
  await page.locator('[data-testid="live"][data-state="live"]:visible').first().waitFor({ timeout: 60_000 });
  const { agents } = await server.query<FleetView>("fleet", {});
  const agent = agents.find(({ name }) => name === "main")!;
  const times = await latencyTimes({ server, page, key, agent });
  return {
    name,
    value: rounded(percentileOf(times, 0.95)),
    unit: "ms",
    p50_ms: rounded(percentileOf(times, 0.5)),
    max_ms: rounded(times.at(-1)!),
    rows: agents.length,
  };
}

/** Times from the acknowledgement of events of an agent until the open page shows their numbers, in ms. */
async function latencyTimes({
  server,
  page,
  key,
  agent,
}: {
  server: BenchServer;
  page: Page;
  key: string;
  agent: FleetAgent;
}): Promise<number[]> {
  // tsx wraps named functions in a call of this helper, which a page does not have.
  await page.evaluate("globalThis.__name ??= (named) => named");
  const times: number[] = [];
  for (let probe = 0; probe < PROBES; probe++) {
    const tokens = 40_000 + probe * 101;
    const seen = page.evaluate(whenShown, { agent: agent.id, tokens, limit: PROBE_LIMIT });
    // The observer must be in place before the event is sent. Random pauses avoid synchronising with timers.
    await sleep(400 + Math.random() * 600);
    const response = await fetch(`${server.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        id: `probe-${probe}`,
        type: "turn",
        at: Date.now() + 60_000,
        harness: agent.harness,
        session: agent.session,
        agent: agent.name,
        model: agent.model,
        usage: { input_tokens: 1, cache_read_tokens: tokens - 1, output_tokens: 10, basis: "exclusive" },
      }),
    });
    const accepted = Date.now();
    if (response.status !== 200) throw new Error(`A probe was answered with ${response.status}.`);
    const shown = await seen;
    if (shown === null) throw new Error(`A number did not change in ${PROBE_LIMIT} ms.`);
    times.push(shown - accepted);
  }
  return times;
}

/** Runs in the page. Resolves with the time at which the agent's row shows these tokens, in epoch ms; null if it never does. */
function whenShown(wanted: { agent: string; tokens: number; limit: number }): Promise<number | null> {
  return new Promise((resolve) => {
    const look = () => {
      const cell = document.querySelector(
        `[data-agent="${wanted.agent}"] [data-testid="context-tokens"]`,
      ) as HTMLElement | null;
      if (Number((cell?.title ?? "").replace(/\D/g, "")) === wanted.tokens) finish(Date.now());
    };
    const observer = new MutationObserver(look);
    const timer = setTimeout(() => finish(null), wanted.limit);
    const finish = (at: number | null) => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(at);
    };
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      characterData: true,
    });
    look();
  });
}
