import { defineConfig } from "@playwright/test";
import { ensureChromium } from "./scripts/ensure-chromium.mjs";

const inCi = Boolean(process.env.CI);
// Found once, by the first process; its workers read this file again.
process.env.PLIMSOLL_CHROMIUM ||= await ensureChromium();
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/global-setup.ts",
  outputDir: "test-results",
  // Each worker has a server and a database of its own: two cores carry two.
  workers: 2,
  fullyParallel: false,
  forbidOnly: inCi,
  retries: inCi ? 1 : 0,
  // Long, for machines with other things to do: they pass when what they wait for is there.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [["list"], ["html", { open: "never" }]],
  use: {
    browserName: "chromium",
    launchOptions: {
      executablePath: process.env.PLIMSOLL_CHROMIUM,
      // Chromium refuses its sandbox to root.
      args: ["--disable-gpu", "--disable-background-networking", ...(isRoot ? ["--no-sandbox"] : [])],
    },
    locale: "en-GB",
    timezoneId: "UTC",
    screenshot: "only-on-failure",
    // Without the film, which would cost every story time and not only those that fail.
    trace: { mode: "retain-on-failure", screenshots: false },
  },
  projects: [
    { name: "desktop", grepInvert: /@phone-only/, use: { viewport: { width: 1440, height: 900 } } },
    // Stories tagged @phone are told here too; those tagged @phone-only, here alone.
    {
      name: "phone",
      grep: /@phone/,
      use: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    },
  ],
});
