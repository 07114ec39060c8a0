import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "./third-party-licenses.mjs";

// Everything is bundled, so the package installs without dependencies.
const shared = {
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  dts: false,
  deps: { alwaysBundle: /./, onlyBundle: false },
  tsconfig: "../../tsconfig.json",
  logLevel: "warn",
};

export default defineConfig([
  {
    ...shared,
    entry: ["src/plimsoll.ts", "src/phantom.ts"],
    // Its default entry is UMD, whose inner require calls a bundler does not follow.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    plugins: [thirdPartyLicenses()],
    // SQLite is loaded from the folder of its script, and only for a database.
    define: { __dirname: "import.meta.dirname" },
    copy: ["../../LICENSE", "../../node_modules/node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm"],
  },
  // opencode loads it as a plugin.
  { ...shared, entry: ["src/opencode-plugin.ts"] },
  // A harness waits for these. Node starts a CommonJS file faster, and one file faster than several.
  // All packages in them are in the programs above too, so their licenses are named.
  ...["src/statusline.ts", "src/hook.ts"].map((entry) => ({
    ...shared,
    entry,
    format: "cjs",
    checks: { legacyCjs: false },
  })),
]);
