import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

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
    globalSetup: ["server/testing/global-setup.ts"],
    include: ["{server,packages,components,scripts,bench,examples,fuzz}/**/*.test.{ts,tsx}"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // Generous limits for busy machines: no test measures time with them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A test, its server and its database already fill two cores.
    maxWorkers: 2,
    // As in the browser tests: one timeout on a stalled machine must not fail the whole run. The report lists retries.
    retry: process.env.CI ? 1 : 0,
  },
});
