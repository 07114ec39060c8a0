import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { OF_NODE, testsReached } from "./tests-reached.mjs";

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
  const failures = report.testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === "failed");
      if (failed.length === 0) return failure(relative(root, name), message);
      return failed.map((test) =>
        failure(`${relative(root, name)}: ${test.fullName}`, test.failureMessages[0]),
      );
    });
  return { passed: report.numPassedTests, failed: report.numFailedTests, skipped, failures };
}

/** A test's name and the beginning of what it said: of a property, that is the seed too; of a comparison, the difference. */
function failure(name, message = "") {
  const lines = stripVTControlCharacters(message)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, 12);
  return [`  ${name}`, ...lines.map((line) => `    ${line.slice(0, 200)}`)].join("\n");
}

/** The stories of a Playwright suite that failed. */
function failedStories({ specs = [], suites = [] }) {
  const failed = specs.filter(({ ok }) => !ok);
  return [
    ...failed.map(({ file, title, tests }) =>
      failure(
        `e2e/${file}: ${title}`,
        tests.flatMap(({ results }) => results.at(-1)?.error?.message ?? [])[0],
      ),
    ),
    ...suites.flatMap(failedStories),
  ];
}

const INSIDE = ["--project", "inside*"];

/**
 * The steps of `npm test`, in order; the first ones run two at a time. Unit tests start and pack what was built before them,
 * so that none waits for a build. `count` reads how many tests of the step passed,
 * failed and were skipped, and describes those that failed.
 */
const STEPS = [
  {
    name: "lint",
    title: "Lint and format (Biome)",
    command: ["npm", "run", "--silent", "lint"],
    beside: true,
  },
  { name: "types", title: "Types (tsc)", command: ["npm", "run", "--silent", "types"], beside: true },
  {
    name: "arrows",
    title: "Imports (dependency-cruiser)",
    command: ["npm", "run", "--silent", "arrows"],
    beside: true,
  },
  { name: "dead", title: "Dead code (knip)", command: ["npm", "run", "--silent", "dead"], beside: true },
  {
    name: "packages",
    title: "Build of the published packages (wireit)",
    command: ["npm", "run", "--silent", "build:packages"],
    beside: true,
  },
  { name: "build", title: "Build (wireit)", command: ["npm", "run", "--silent", "build"], beside: true },
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
  {
    name: "browser",
    title: "Browser tests (Playwright)",
    command: ["playwright", "test", "--pass-with-no-tests", "--reporter=list,json"],
    count() {
      const { stats, suites } = JSON.parse(readFileSync(playwrightReport, "utf8"));
      const { expected, unexpected, skipped } = stats;
      return {
        passed: expected,
        failed: unexpected,
        skipped,
        failures: suites.flatMap(failedStories),
      };
    },
  },
];

const USAGE = `Usage: npm test [-- --quick | --changed | --node | --harnesses | --only STEP,… | --skip STEP,…]
Steps: ${STEPS.map((step) => step.name).join(", ")}`;

const running = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    rmSync(reports, { recursive: true, force: true });
    process.exit(1);
  });
}

/**
 * @param held keep the output until the end, so that two commands do not mix theirs
 * @returns {Promise<boolean>} true if the command exited with code 0
 */
function run([program, ...args], held = false) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: held ? ["ignore", "pipe", "pipe"] : "inherit",
      shell: process.platform === "win32",
      env: {
        ...process.env,
        PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH}`,
        PLAYWRIGHT_JSON_OUTPUT_NAME: playwrightReport,
      },
    });
    running.add(child);
    const output = [];
    child.stdout?.on("data", (chunk) => output.push(chunk));
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.once("error", reject);
    child.once("close", (code) => {
      running.delete(child);
      process.stdout.write(Buffer.concat(output));
      resolve(code === 0);
    });
  });
}

/** The step with other arguments for its program. */
function withArguments(name, ...more) {
  const step = STEPS.find((step) => step.name === name);
  return { ...step, command: [...step.command, ...more] };
}

/** The checks and the tests that need neither a server nor a database. */
function quickSteps() {
  return [
    ...STEPS.filter(({ name }) => ["lint", "types", "arrows"].includes(name)),
    withArguments("unit", ...INSIDE),
  ];
}

/** The quick steps, and the other tests that reach what changed since the last commit. */
function changedSteps() {
  const git = (...args) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);
  const changed = [
    ...git("diff", "--name-only", "--diff-filter=d", "HEAD"),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
  const { apiTests, stories } = testsReached(changed, git("ls-files", "server", "e2e"));
  const related = {
    ...STEPS.find(({ name }) => name === "unit"),
    title: "API tests that reach what changed (Vitest)",
    command: ["vitest", "related", "--run", "--project", "outside*", ...vitestReporters(vitestReport)],
  };
  related.command.push("--passWithNoTests", ...new Set([...changed, ...apiTests]));
  const browser = stories.length > 0 ? [withArguments("browser", ...stories)] : [];
  return [...quickSteps(), ...(changed.length > 0 ? [related] : []), ...browser];
}

const CHOICES = {
  "--quick": quickSteps,
  "--changed": changedSteps,
  "--node": () => [withArguments("unit", ...OF_NODE)],
  "--harnesses": () => [withArguments("unit", "/real-")],
};

function chosenSteps(args) {
  if (args.length === 1 && args[0] in CHOICES) return CHOICES[args[0]]();
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

/** @returns {Promise<{ ok: boolean, time: string, tests?: { passed: number, failed: number, skipped: number, failures?: string[] } }>} */
async function runStep({ title, command, count, beside }) {
  if (!beside) console.log(`\n=== ${title}`);
  const start = performance.now();
  let ok = false;
  let tests;
  try {
    ok = await run(command, beside);
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
  const failures = [];
  if (!(await run(["npm", "run", "--silent", "test:packages"])))
    throw new Error("npm run test:packages failed.");
  const waiting = [...steps];
  let failed = false;
  /** Runs the steps that wait, one after the other; `alone` also those that do not run beside others. */
  async function lane(alone) {
    while (!failed && waiting.length > 0 && (alone || waiting[0].beside)) {
      const step = waiting.shift();
      const { ok, time, tests } = await runStep(step);
      for (const outcome of Object.keys(total)) total[outcome] += tests?.[outcome] ?? 0;
      failures.push(...(tests?.failures ?? []));
      lines.push(`  ${ok ? "ok    " : "FAILED"}  ${time.padStart(8)}  ${step.name}`);
      failed ||= !ok;
    }
  }
  await Promise.all([lane(false), lane(false)]);
  await lane(true);
  for (const step of waiting) lines.push(`  not run            ${step.name}`);
  console.log(`\n${lines.join("\n")}\n`);
  if (failures.length > 0) console.log(`Failed:\n${failures.join("\n")}\n`);
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
