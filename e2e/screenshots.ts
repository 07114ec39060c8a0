import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "@playwright/test";
import { ensureChromium } from "../scripts/chromium.ts";
import { seedFleet } from "./support/seed-fleet.ts";
import { PlimsollServer } from "./support/server.ts";

// Takes the README screenshots of a seeded fleet. Run `npx tsx e2e/screenshots.ts [FOLDER]` after a build.

const folder = process.argv[2] ?? fileURLToPath(new URL("../docs/images", import.meta.url));
const WIDTH = 1440;
const HEIGHT = 900;
const THEMES = ["light", "dark"] as const;

/** Captures the whole page after all data and fonts have loaded. */
async function shoot(page: Page, name: string): Promise<void> {
  await page.locator("[data-testid=live][data-state=live]").filter({ visible: true }).waitFor();
  await page.waitForFunction(() => document.querySelector("main .skeleton") === null);
  await page.evaluate(() => document.fonts.ready);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: WIDTH, height: Math.max(height, HEIGHT) });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}

const server = await PlimsollServer.start();
try {
  await mkdir(folder, { recursive: true });
  const executablePath = ensureChromium();
  const browser = await chromium.launch({
    executablePath,
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHT },
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.goto(server.loginUrl);
  await page.waitForURL(`${server.url}/`);
  for (const preset of ["past_line", "thrash", "over_window"])
    await server.mutate("alerts.rules.createPreset", { preset, endpoints: [] });
  for (const rule of [
    { name: "Near its line", condition: { type: "load", at_least: 0.9 } },
    { name: "Window unknown", condition: { type: "window_unknown" }, severity: "info" },
  ])
    await server.mutate("alerts.rules.create", { rule });
  const { title } = await seedFleet((events) => server.send(events), { sessions: 110 });
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: WIDTH, height: HEIGHT });
    await page.goto(server.url);
    await page.getByTestId("fleet-row").first().waitFor();
    await shoot(page, `fleet-${colorScheme}`);
    await page.setViewportSize({ width: WIDTH, height: HEIGHT });
    await page.goto(`${server.url}/sessions?q=${encodeURIComponent(title)}`);
    await page.locator("[data-row-link]").first().click();
    await page.getByTestId("saw-path").waitFor();
    await shoot(page, `session-${colorScheme}`);
    await page.setViewportSize({ width: WIDTH, height: HEIGHT });
    await page.goto(`${server.url}/alerts`);
    await page.getByRole("list", { name: "Firing alerts" }).waitFor();
    await shoot(page, `alerts-${colorScheme}`);
  }
  await browser.close();
} finally {
  await server.stop();
}
