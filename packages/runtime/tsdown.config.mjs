import { defineConfig } from "tsdown";
import { writtenOutTypes } from "../guard/written-out-types.mjs";

const tsconfig = "../../tsconfig.json";

// The pure part of the protocol is bundled, as in the guard, which is the only dependency.
export default defineConfig({
  entry: ["src/index.ts", "src/node/index.ts"],
  platform: "neutral",
  target: "es2023",
  dts: true,
  deps: { neverBundle: [/^node:/, /^@plimsoll\/guard/], onlyBundle: [] },
  plugins: [writtenOutTypes(tsconfig)],
  tsconfig,
  copy: "../../LICENSE",
  logLevel: "warn",
});
