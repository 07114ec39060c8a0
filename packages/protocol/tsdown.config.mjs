import { defineConfig } from "tsdown";

export default defineConfig({
  entry: "src/{alerts,api,backup,connect,events,mapping,policy,pure}.ts",
  platform: "neutral",
  target: "es2023",
  dts: true,
  tsconfig: "../../tsconfig.json",
  copy: "../../LICENSE",
  logLevel: "warn",
});
