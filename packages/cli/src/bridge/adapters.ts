import type { HarnessAdapter } from "./adapter.ts";
import { claudeCode } from "./adapters/claude-code.ts";
import { codex } from "./adapters/codex.ts";
import { geminiCli } from "./adapters/gemini-cli.ts";
import { goose } from "./adapters/goose.ts";
import { kimiCli, kimiCode } from "./adapters/kimi.ts";
import { amp, copilot, cursor } from "./adapters/none.ts";
import { cline, crush } from "./adapters/on-off.ts";
import { kilo, opencode } from "./adapters/opencode.ts";
import { pi } from "./adapters/pi.ts";
import { qwenCode } from "./adapters/qwen-code.ts";

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
