import { defineConfig } from "@playwright/test";
import { ensureChromium } from "./scripts/chromium.ts";
import { memoryFolder } from "./server/testing/memory-folder.ts";

const inCi = Boolean(process.env.CI);
// Workers load this file too; they inherit the path that the first process found.
process.env.PLIMSOLL_CHROMIUM ||= ensureChromium();
// Servers, their databases and Chromium inherit it.
process.env.TMPDIR = memoryFolder();
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/global-setup.ts",
  outputDir: "test-results",
  // The stories of a worker share a server and its database, so two workers fill two cores.
  workers: 2,
  fullyParallel: false,
  forbidOnly: inCi,
  // Generous limits for busy machines, because no story runs again. A test continues as soon as the page is ready.
  timeout: 360_000,
  expect: { timeout: 60_000 },
  reporter: [["list"], ["html", { open: "never" }]],
  use: {
    browserName: "chromium",
    launchOptions: {
      executablePath: process.env.PLIMSOLL_CHROMIUM,
      // Chromium's sandbox does not run as root.
      args: ["--disable-gpu", "--disable-background-networking", ...(isRoot ? ["--no-sandbox"] : [])],
    },
    locale: "en-GB",
    timezoneId: "UTC",
    screenshot: "only-on-failure",
    // Recording a trace slows down a test by a sixth: `--trace on`.
    trace: "off",
  },
  projects: [
    { name: "desktop", grepInvert: /@phone-only/, use: { viewport: { width: 1440, height: 900 } } },
    // Tests tagged @phone run at both sizes; tests tagged @phone-only run only here.
    {
      name: "phone",
      grep: /@phone/,
      use: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    },
  ],
});
