import { defineConfig } from "tsdown";

// Packages from npm stay imports.
export default defineConfig({
  entry: "main.ts",
  outDir: "../dist/server",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  logLevel: "warn",
});
