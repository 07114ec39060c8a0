import { defineConfig } from "tsdown";

// Everything is bundled, because the server runs the demo where no package is installed.
export default defineConfig({
  entry: { main: "demo.ts" },
  outDir: "../dist/demo",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  dts: false,
  deps: { alwaysBundle: /./, onlyBundle: false },
  // One file: a chunk that imports the entry would wait for its top-level await forever.
  outputOptions: { codeSplitting: false },
  logLevel: "warn",
});
