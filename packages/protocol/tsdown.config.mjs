import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/connect.ts", "src/index.ts", "src/policy.ts", "src/pure.ts"],
  platform: "neutral",
  target: "es2023",
  dts: true,
  tsconfig: "../../tsconfig.json",
  copy: "../../LICENSE",
  logLevel: "warn",
});
