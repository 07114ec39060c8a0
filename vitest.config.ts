import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { memoryFolder } from "./server/testing/memory-folder.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const FOLDERS = ["server", "packages", "components", "scripts", "bench", "examples", "fuzz"];

/** In a test that needs PostgreSQL or starts programs. `npm test -- --quick` runs the others. */
const OUTSIDE = new RegExp(
  [
    "node:child_process",
    "^\\S*/api-tests/",
    'from "@anthropic-ai/claude-agent-sdk"',
    "sdkUnderTest",
    "\\./phantom/main\\.ts",
    "testing/(alerts|certificate|child-process|connect-run|database|deliveries|fifo|http-stack|ingest|pgbouncer|real-harness|real-server|real-terminal|server)\\.ts",
  ].join("|"),
);

const CLEAN_ENVIRONMENT = "packages/guard/src/testing/clean-environment.ts";

const readsEnvironment = (text: string) => text.includes("testing/clean-environment.ts");
const replacesModules = (text: string) => text.includes("vi.mock(");

/** Loading all modules again for each file takes longer than most files. */
const kindsOf = (outside: boolean) => [
  {
    name: "",
    isolate: false,
    setupFiles: [],
    holds: (text: string) => !replacesModules(text) && !readsEnvironment(text),
  },
  // Packages in these read the environment when they are loaded, so no other test may load them first.
  {
    name: "-clean",
    // Outside, they also set what a process has once, such as the context manager of OpenTelemetry.
    isolate: outside,
    setupFiles: [CLEAN_ENVIRONMENT],
    holds: (text: string) => !replacesModules(text) && readsEnvironment(text),
  },
  { name: "-isolated", isolate: true, setupFiles: [], holds: replacesModules },
];

const TESTS = FOLDERS.flatMap((folder) =>
  readdirSync(at(folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
)
  .filter((path) => /\.test\.tsx?$/.test(path) && !/\b(node_modules|dist)\b/.test(path))
  .map((path) => path.replaceAll(sep, "/"))
  .map((path) => ({ path, text: `${path}\n${readFileSync(at(path), "utf8")}` }));

/** Those that take a minute or more begin first: at the end, they would run alone. */
const SLOW =
  /(real-unhurt|real-harnesses|real-sub-agents|faults-found|build-packages|attacks\/bodies|rollout-kills|backup|start-up|damaged-home|matched-sources)\.test\.ts$/;

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.test(moduleId);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

// Workers and what they start inherit it.
process.env.TMPDIR = memoryFolder();

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@plimsoll\/protocol\/(.+)$/, replacement: at("packages/protocol/src/$1.ts") },
      { find: /^@plimsoll\/fold$/, replacement: at("packages/fold/src/index.ts") },
      { find: /^@plimsoll\/guard$/, replacement: at("packages/guard/src/index.ts") },
      { find: /^@plimsoll\/guard\/(.+)$/, replacement: at("packages/guard/src/$1/index.ts") },
      { find: /^@plimsoll\/harnesses\/(.+)$/, replacement: at("packages/harnesses/src/$1.ts") },
      { find: /^@plimsoll\/runtime$/, replacement: at("packages/runtime/src/index.ts") },
      { find: /^@plimsoll\/runtime\/(.+)$/, replacement: at("packages/runtime/src/$1/index.ts") },
    ],
  },
  test: {
    // Generous limits for busy machines, because no test runs again: no test measures time with them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    sequence: { sequencer: SlowFirst },
    projects: [false, true].flatMap((outside) =>
      kindsOf(outside).map(({ name, isolate, setupFiles, holds }) => ({
        extends: true as const,
        test: {
          name: `${outside ? "outside" : "inside"}${name}`,
          include: TESTS.filter(({ text }) => OUTSIDE.test(text) === outside && holds(text)).map(
            ({ path }) => path,
          ),
          isolate,
          setupFiles,
          // Tests with servers and databases wait half of their time.
          maxWorkers: outside ? 4 : 2,
          globalSetup: outside ? ["server/testing/global-setup.ts"] : [],
          sequence: { groupOrder: Number(outside) },
        },
      })),
    ),
  },
});
