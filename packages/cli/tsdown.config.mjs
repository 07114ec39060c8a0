import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "./third-party-licenses.mjs";

// Everything is bundled, so the package installs without dependencies.
export default defineConfig({
  entry: ["src/plimsoll.ts", "src/phantom.ts", "src/statusline.ts", "src/hook.ts"],
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  dts: false,
  // Its default entry is UMD, whose inner require calls a bundler does not follow.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  deps: { alwaysBundle: /./, onlyBundle: false },
  plugins: [thirdPartyLicenses()],
  tsconfig: "../../tsconfig.json",
  // SQLite is loaded from the folder of its script, and only for a database.
  define: { __dirname: "import.meta.dirname" },
  copy: ["../../LICENSE", "../../node_modules/node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm"],
  logLevel: "warn",
});
