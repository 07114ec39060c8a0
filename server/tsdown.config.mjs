import { defineConfig } from "tsdown";

export default defineConfig({
  entry: "main.ts",
  outDir: "../dist/server",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // Of a start, much was finding and reading the files of packages. Next finds its own by their paths.
  deps: { alwaysBundle: /^(?!next(\/|$))/, onlyBundle: false },
  outputOptions: {
    // One file: a chunk that imports the entry would wait for its top-level await forever.
    codeSplitting: false,
    comments: false,
    // With one character beyond Latin-1, V8 holds and reads the file as two bytes per character.
    charset: "ascii",
  },
  logLevel: "warn",
});
