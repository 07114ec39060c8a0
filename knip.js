import { readFileSync } from "node:fs";

const { dependencies } = JSON.parse(
  readFileSync(new URL("scripts/test-packages/package.json", import.meta.url), "utf8"),
);
/** `npm test` installs them. scripts/lockfile.test.ts checks that each is used, .dependency-cruiser.cjs that only tests do. */
const testPackages = Object.keys(dependencies);

/** @type {import("knip").KnipConfig} */
export default {
  workspaces: {
    ".": {
      entry: [
        "bench/*.ts",
        "components/jsx/jsx-{dev-,}runtime.ts!",
        "components/login/client.ts!",
        "e2e/screenshots.ts",
        "fuzz/{main,prober,recordings-worker}.ts",
        "scripts/policy-conformance-client.ts",
        "scripts/{start,dev}.mjs",
      ],
      project: [
        "{app,components,server}/**/*.{ts,tsx,css}!",
        "!server/db/generated/**",
        "prisma/*.prisma!",
        "{scripts,bench,e2e,fuzz}/**/*.{ts,tsx,mjs}",
      ],
      ignoreUnresolved: ["#jsx"],
      vitest: { config: ["vitest.config.ts", "vitest.citus.config.ts"] },
      playwright: true,
      prisma: true,
      ignoreBinaries: ["biome", "depcruise", "knip", "pg_config", "prisma"],
      ignoreDependencies: ["@prisma/client", ...testPackages],
    },
    "packages/protocol": {
      entry: ["src/*.ts!"],
    },
    "packages/harnesses": {
      entry: ["src/*.ts!"],
    },
    "packages/guard": {
      entry: ["src/*/index.ts!"],
    },
    "packages/runtime": {
      entry: ["src/*/testing.ts"],
    },
    "packages/cli": {
      entry: ["src/{plimsoll,phantom,statusline,hook}.ts!"],
    },
    examples: {
      entry: ["*/main.ts!", "autopilot-plugin/hooks/*.mjs!"],
    },
  },
  ignoreBinaries: [
    "ip",
    "ldd",
    "mkfifo",
    "mount",
    "openssl",
    "script",
    "systemd-analyze",
    "umount",
    "unshare",
  ],
  ignoreExportsUsedInFile: true,
};
