import { defineConfig } from "tsdown";
import { writtenOutTypes } from "./written-out-types.mjs";

const tsconfig = "../../tsconfig.json";

// The pure part of the protocol and the types it uses are bundled: a harness installs the guard and nothing else.
export default defineConfig({
  entry: ["src/index.ts", "src/*/index.ts"],
  platform: "neutral",
  target: "es2023",
  dts: true,
  deps: { neverBundle: /^node:/, onlyBundle: [] },
  plugins: [writtenOutTypes(tsconfig)],
  tsconfig,
  copy: "../../LICENSE",
  logLevel: "warn",
});
