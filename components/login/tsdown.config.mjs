import { defineConfig } from "tsdown";

// A file of its own: the login page loads nothing else.
export default defineConfig({
  entry: { login: "client.ts" },
  outDir: "../../public",
  outputOptions: { entryFileNames: "login.js" },
  clean: false,
  format: "iife",
  platform: "browser",
  target: "es2022",
  minify: true,
  dts: false,
  logLevel: "warn",
});
