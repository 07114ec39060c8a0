import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "..");
const reports = mkdtempSync(join(tmpdir(), "plimsoll-test-"));
const vitestReport = join(reports, "vitest.json");
const citusReport = join(reports, "citus.json");
const playwrightReport = join(reports, "playwright.json");

function vitestReporters(file) {
  return ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
}

function vitestCounts(file) {
  const report = JSON.parse(readFileSync(file, "utf8"));
  const skipped = report.numPendingTests + report.numTodoTests;
  return { passed: report.numPassedTests, failed: report.numFailedTests, skipped };
}

/** The steps of `npm test`, in order. `count` reads how many tests of the step passed, failed and were skipped. */
const STEPS = [
  { name: "lint", title: "Lint and format (Biome)", command: ["npm", "run", "--silent", "lint"] },
  { name: "types", title: "Types (tsc)", command: ["npm", "run", "--silent", "types"] },
  { name: "arrows", title: "Imports (dependency-cruiser)", command: ["npm", "run", "--silent", "arrows"] },
  { name: "dead", title: "Dead code (knip)", command: ["npm", "run", "--silent", "dead"] },
  {
    name: "unit",
    title: "Unit and API tests (Vitest)",
    command: ["vitest", "run", ...vitestReporters(vitestReport)],
    count: () => vitestCounts(vitestReport),
  },
  {
    name: "citus",
    title: "Every statement on Citus (Vitest)",
    command: ["vitest", "run", "--config", "vitest.citus.config.ts", ...vitestReporters(citusReport)],
    count: () => vitestCounts(citusReport),
  },
  { name: "build", title: "Build (wireit)", command: ["npm", "run", "--silent", "build"] },
  {
    name: "browser",
    title: "Browser tests (Playwright)",
    command: ["playwright", "test", "--pass-with-no-tests", "--reporter=list,json"],
    count() {
      const { stats } = JSON.parse(readFileSync(playwrightReport, "utf8"));
      return { passed: stats.expected + stats.flaky, failed: stats.unexpected, skipped: stats.skipped };
    },
  },
];

const USAGE = `Usage: npm test [-- --only STEP,…] [-- --skip STEP,…]
Steps: ${STEPS.map((step) => step.name).join(", ")}`;

let running;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    running?.kill(signal);
    rmSync(reports, { recursive: true, force: true });
    process.exit(1);
  });
}

/** @returns {Promise<boolean>} true if the command exited with code 0 */
function run([program, ...args]) {
  return new Promise((resolve, reject) => {
    running = spawn(program, args, {
      cwd: root,
      stdio: "inherit",
      shell: process.platform === "win32",
      env: {
        ...process.env,
        PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH}`,
        PLAYWRIGHT_JSON_OUTPUT_NAME: playwrightReport,
      },
    });
    running.once("error", reject);
    running.once("close", (code) => resolve(code === 0));
  });
}

function chosenSteps(args) {
  const names = { "--only": undefined, "--skip": undefined };
  for (let index = 0; index < args.length; index += 2) {
    const [flag, inline] = args[index].split("=");
    if (!(flag in names)) throw new Error(`Unknown option ${args[index]}.\n${USAGE}`);
    if (inline !== undefined) index -= 1;
    names[flag] = (inline ?? args[index + 1] ?? "").split(",");
    const unknown = names[flag].find((name) => STEPS.every((step) => step.name !== name));
    if (unknown !== undefined) throw new Error(`Unknown step "${unknown}".\n${USAGE}`);
  }
  return STEPS.filter(
    ({ name }) => (names["--only"]?.includes(name) ?? true) && !(names["--skip"]?.includes(name) ?? false),
  );
}

/** @returns {Promise<{ ok: boolean, time: string, tests?: { passed: number, failed: number, skipped: number } }>} */
async function runStep({ title, command, count }) {
  console.log(`\n=== ${title}`);
  const start = performance.now();
  let ok = false;
  let tests;
  try {
    ok = await run(command);
    tests = count?.();
  } catch (error) {
    ok = false;
    console.error(error.message);
  }
  if (tests !== undefined && tests.failed > 0) ok = false;
  // A step that fails without a failed test counts as one failure, so the summary is never clean.
  if (!ok && !(tests?.failed > 0)) tests = { passed: 0, skipped: 0, ...tests, failed: 1 };
  const time = `${((performance.now() - start) / 1000).toFixed(1)} s`;
  console.log(`=== ${title}: ${ok ? "ok" : "FAILED"} in ${time}`);
  return { ok, time, tests };
}

async function main() {
  const steps = chosenSteps(process.argv.slice(2));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  if (!(await run(["npm", "run", "--silent", "test:packages"])))
    throw new Error("npm run test:packages failed.");
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
