import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "./third-party-licenses.mjs";

// Everything is bundled, so the package installs without dependencies.
export default defineConfig({
  entry: ["src/plimsoll.ts", "src/phantom.ts"],
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  dts: false,
  deps: { alwaysBundle: /./, onlyBundle: false },
  plugins: [thirdPartyLicenses()],
  tsconfig: "../../tsconfig.json",
  copy: "../../LICENSE",
  logLevel: "warn",
});
