import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ensureChromium } from "./ensure-chromium.mjs";
import { generate } from "./generate.mjs";
import { root } from "./root.mjs";

const require = createRequire(import.meta.url);
const reports = mkdtempSync(join(tmpdir(), "plimsoll-test-"));
const vitestReport = join(reports, "vitest.json");
const playwrightReport = join(reports, "playwright.json");

/** What `npm test` runs, in order. A step that counts tests says how many passed, failed and were left out. */
const STEPS = [
  { name: "lint", title: "Lint and format (Biome)", run: () => tool("@biomejs/biome", "biome", ["check"]) },
  { name: "types", title: "Types (tsc)", run: () => tool("typescript", "tsc", ["--noEmit"]) },
  {
    name: "arrows",
    title: "Who may import whom (dependency-cruiser)",
    run: () => tool("tsx", "tsx", ["scripts/arrows/arrows.ts"]),
  },
  { name: "dead", title: "Dead code (knip)", run: () => tool("knip", "knip", ["--no-progress"]) },
  {
    name: "unit",
    title: "Unit and API tests (vitest)",
    run: () =>
      tool("vitest", "vitest", [
        "run",
        "--reporter=default",
        "--reporter=json",
        `--outputFile.json=${vitestReport}`,
      ]),
    count: () => countVitest(JSON.parse(readFileSync(vitestReport, "utf8"))),
  },
  { name: "build", title: "Build", run: () => node([join(root, "scripts/build.mjs")]) },
  {
    name: "browser",
    title: "Browser tests (Playwright)",
    run: async () =>
      tool("@playwright/test", "playwright", ["test", "--pass-with-no-tests", "--reporter=list,json"], {
        PLIMSOLL_CHROMIUM: await ensureChromium(),
        PLAYWRIGHT_JSON_OUTPUT_NAME: playwrightReport,
      }),
    count: () => countPlaywright(JSON.parse(readFileSync(playwrightReport, "utf8"))),
  },
];

const USAGE = `npm test [-- --only NAME,…] [-- --skip NAME,…]
NAME is one of ${STEPS.map((step) => step.name).join(", ")}.`;

function countVitest(report) {
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function countPlaywright({ stats }) {
  return { passed: stats.expected + stats.flaky, failed: stats.unexpected, skipped: stats.skipped };
}

/** Runs a package's program; its name may differ from the package's. */
function tool(name, program, args, env) {
  const manifest = findManifest(name);
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return node([join(dirname(manifest), typeof bin === "string" ? bin : bin[program]), ...args], env);
}

/** Some packages do not let their package.json be asked for by name. */
function findManifest(name) {
  const folder = require.resolve.paths(name).find((path) => {
    try {
      readFileSync(join(path, name, "package.json"));
      return true;
    } catch {
      return false;
    }
  });
  if (folder === undefined) throw new Error(`${name} is not installed: run npm ci first.`);
  return join(folder, name, "package.json");
}

let running;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    running?.kill(signal);
    rmSync(reports, { recursive: true, force: true });
    process.exit(1);
  });
}

/** @returns {Promise<boolean>} true when the program ended well */
function node(args, env = {}) {
  return new Promise((resolve, reject) => {
    running = spawn(process.execPath, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
    running.once("error", reject);
    running.once("close", (code) => resolve(code === 0));
  });
}

function chosenSteps(args) {
  const names = { "--only": undefined, "--skip": undefined };
  for (let index = 0; index < args.length; index += 2) {
    const [flag, inline] = args[index].split("=");
    if (!(flag in names)) throw new Error(`${args[index]} is not known.\n${USAGE}`);
    if (inline !== undefined) index -= 1;
    names[flag] = (inline ?? args[index + 1] ?? "").split(",");
    const unknown = names[flag].find((name) => STEPS.every((step) => step.name !== name));
    if (unknown !== undefined) throw new Error(`There is no step "${unknown}".\n${USAGE}`);
  }
  return STEPS.filter(
    ({ name }) => (names["--only"]?.includes(name) ?? true) && !(names["--skip"]?.includes(name) ?? false),
  );
}

const seconds = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`;

/** @returns {Promise<{ ok: boolean, time: string, tests?: { passed: number, failed: number, skipped: number } }>} */
async function runStep(step) {
  console.log(`\n=== ${step.title}`);
  const start = performance.now();
  let ok = false;
  let tests;
  try {
    ok = await step.run();
    tests = step.count?.();
  } catch (error) {
    ok = false;
    console.error(error.message);
  }
  if (tests !== undefined && tests.failed > 0) ok = false;
  // A step that failed without naming a test counts as one failure, so that the summary never looks clean.
  if (!ok && !(tests?.failed > 0)) tests = { passed: 0, skipped: 0, ...tests, failed: 1 };
  const time = seconds(start);
  console.log(`=== ${step.title}: ${ok ? "ok" : "FAILED"} in ${time}`);
  return { ok, time, tests };
}

async function main() {
  const steps = chosenSteps(process.argv.slice(2));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  if (generate()) console.log("Made the database client.");
  for (const step of steps) {
    const { ok, time, tests } = await runStep(step);
    for (const outcome of Object.keys(total)) total[outcome] += tests?.[outcome] ?? 0;
    lines.push(`  ${ok ? "ok    " : "FAILED"}  ${time.padStart(8)}  ${step.name}`);
    if (!ok) break;
  }
  for (const step of steps.slice(lines.length)) lines.push(`  not run            ${step.name}`);
  console.log(`\n${lines.join("\n")}\n`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  if (total.failed > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
} finally {
  rmSync(reports, { recursive: true, force: true });
}
