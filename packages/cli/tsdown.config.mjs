import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "./third-party-licenses.mjs";

// Everything is bundled, so the package installs without dependencies.
export default defineConfig({
  entry: ["src/plimsoll.ts", "src/phantom.ts"],
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  dts: false,
  // Its default entry is UMD, whose inner require calls a bundler does not follow.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  deps: { alwaysBundle: /./, onlyBundle: false },
  plugins: [thirdPartyLicenses()],
  tsconfig: "../../tsconfig.json",
  copy: "../../LICENSE",
  logLevel: "warn",
});
