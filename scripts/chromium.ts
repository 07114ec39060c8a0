import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { chromium } from "@playwright/test";

/** Where Debian's packages install it. The headless shell has no window, and pages take a fifth less time in it. */
const SYSTEM_CHROMIUMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** Commands that install a Chromium, tried in this order. */
const INSTALLERS = [
  ["npx", "playwright", "install", "chromium"],
  ["apt-get", "install", "-y", "--no-install-recommends", "chromium-headless-shell"],
  ["apt-get", "install", "-y", "--no-install-recommends", "chromium"],
];

/**
 * The path of an installed Chromium: PLIMSOLL_CHROMIUM, Playwright's own, or the system's; undefined if there is none.
 * @throws if PLIMSOLL_CHROMIUM is set to a file that cannot be executed
 */
export function findChromium(): string | undefined {
  const configured = process.env.PLIMSOLL_CHROMIUM;
  if (configured) {
    if (isExecutable(configured)) return configured;
    throw new Error(
      `PLIMSOLL_CHROMIUM is "${configured}", which cannot be executed. Set it to a Chromium's path.`,
    );
  }
  return [chromium.executablePath(), ...SYSTEM_CHROMIUMS].find(isExecutable);
}

/**
 * The path of a Chromium, installed first if there is none.
 * @throws if no Chromium can be installed
 */
export function ensureChromium(): string {
  for (const [program = "", ...args] of INSTALLERS) {
    const found = findChromium();
    if (found !== undefined) return found;
    console.error(`No Chromium found. Running ${[program, ...args].join(" ")}`);
    spawnSync(program, args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  }
  const installed = findChromium();
  if (installed !== undefined) return installed;
  throw new Error(
    "The browser tests need Chromium, and it could not be installed. Set PLIMSOLL_CHROMIUM to a Chromium's path, " +
      'or run "npx playwright install --with-deps chromium" or, on Debian, "apt-get install chromium".',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
