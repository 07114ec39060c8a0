import { defineConfig } from "@playwright/test";
import { ensureChromium } from "./scripts/ensure-chromium.mjs";

const inCi = Boolean(process.env.CI);
// Only the first process searches; its workers inherit the variable.
process.env.PLIMSOLL_CHROMIUM ||= await ensureChromium();
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/global-setup.ts",
  outputDir: "test-results",
  // Each worker runs its own server and database, so two cores carry two workers.
  workers: 2,
  fullyParallel: false,
  forbidOnly: inCi,
  retries: inCi ? 1 : 0,
  // Long timeouts for busy machines. A test ends as soon as its condition holds.
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
    // Traces without screenshots: those would slow down passing tests too.
    trace: { mode: "retain-on-failure", screenshots: false },
  },
  projects: [
    { name: "desktop", grepInvert: /@phone-only/, use: { viewport: { width: 1440, height: 900 } } },
    // Tests tagged @phone also run here; tests tagged @phone-only run only here.
    {
      name: "phone",
      grep: /@phone/,
      use: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    },
  ],
});
