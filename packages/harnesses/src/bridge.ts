import type { HarnessAdapter } from "./bridge/adapter.ts";
import { amp, copilot, cursor } from "./bridge/unsettable.ts";
import { claudeCode } from "./claude-code/bridge.ts";
import { cline, crush } from "./cline/bridge.ts";
import { codex } from "./codex/bridge.ts";
import { geminiCli } from "./gemini-cli/bridge.ts";
import { goose } from "./goose/bridge.ts";
import { kimiCli, kimiCode } from "./kimi/bridge.ts";
import { kilo, opencode } from "./opencode/bridge.ts";
import { pi } from "./pi/bridge.ts";
import { qwenCode } from "./qwen-code/bridge.ts";

export * from "./bridge/adapter.ts";
export * from "./bridge/line.ts";

/** Every harness that the bridge knows, the most capable first. */
export const ADAPTERS: readonly HarnessAdapter[] = [
  claudeCode,
  codex,
  geminiCli,
  qwenCode,
  kilo,
  opencode,
  kimiCli,
  kimiCode,
  pi,
  goose,
  cline,
  crush,
  copilot,
  cursor,
  amp,
];
