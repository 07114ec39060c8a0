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
  // One file: a chunk that imports the entry would wait for its top-level await forever.
  outputOptions: { codeSplitting: false },
  logLevel: "warn",
});
