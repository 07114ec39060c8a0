import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./root.mjs";

const SYSTEM_BROWSERS = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

const HELP = `Set PLIMSOLL_CHROMIUM to the path of a Chromium or Chrome, or install one:
  Debian, Ubuntu   apt-get install chromium
  elsewhere        npx playwright install --with-deps chromium`;

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where Playwright keeps the browser it downloads, whether it is there or not. */
async function playwrightBrowser() {
  const { chromium } = await import("@playwright/test");
  return chromium.executablePath();
}

/**
 * A Chromium that is on this machine: the one named by PLIMSOLL_CHROMIUM, Playwright's own, or the system's.
 * @returns {Promise<string | undefined>}
 */
export async function findChromium() {
  const named = process.env.PLIMSOLL_CHROMIUM;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`PLIMSOLL_CHROMIUM is ${named}, which is not a program that can be run.\n${HELP}`);
  }
  return [await playwrightBrowser(), ...SYSTEM_BROWSERS].find((path) => path && isExecutable(path));
}

/**
 * Finds a Chromium, or installs one.
 * @returns {Promise<string>} its path
 */
export async function ensureChromium() {
  const found = await findChromium();
  if (found) return found;
  const failures = [];
  for (const [program, ...args] of installers()) {
    console.error(`Installing Chromium: ${[program, ...args].join(" ")}`);
    const { status, error } = spawnSync(program, args, {
      cwd: root,
      // Whoever reads our output wants the path alone.
      stdio: ["ignore", process.stderr, process.stderr],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status !== 0)
      failures.push(`  ${[program, ...args].join(" ")}: ${error?.message ?? `exit ${status}`}`);
    const installed = await findChromium();
    if (installed) return installed;
  }
  throw new Error(`The browser tests need a Chromium. None was found, and none could be installed:
${failures.join("\n")}
${HELP}`);
}

function installers() {
  const playwright = join(
    dirname(createRequire(import.meta.url).resolve("@playwright/test/package.json")),
    "cli.js",
  );
  const own = [process.execPath, playwright, "install", "chromium"];
  const isDebian =
    existsSync("/etc/os-release") && /^ID(_LIKE)?=.*debian/m.test(readFileSync("/etc/os-release", "utf8"));
  if (!isDebian || process.getuid?.() !== 0) return [own];
  return [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"], own];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await ensureChromium());
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
