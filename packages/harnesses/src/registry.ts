import { agentd } from "./agentd/index.ts";
import { amp } from "./amp/index.ts";
import { atif } from "./atif/index.ts";
import { claudeCode } from "./claude-code/index.ts";
import { cline } from "./cline/index.ts";
import { codex } from "./codex/index.ts";
import { copilot } from "./copilot/index.ts";
import { crush } from "./crush/index.ts";
import { cursor } from "./cursor/index.ts";
import { deepagents } from "./deepagents/index.ts";
import { dsh } from "./dsh/index.ts";
import { geminiCli } from "./gemini-cli/index.ts";
import { goose } from "./goose/index.ts";
import { type Harness, isNone, type None } from "./harness.ts";
import { kilo } from "./kilo/index.ts";
import { kimi } from "./kimi/index.ts";
import { kimiCode } from "./kimi-code/index.ts";
import { kiro } from "./kiro/index.ts";
import { miniSweAgent } from "./mini-swe-agent/index.ts";
import { mistralVibe } from "./mistral-vibe/index.ts";
import { openclaw } from "./openclaw/index.ts";
import { opencode } from "./opencode/index.ts";
import { openhands } from "./openhands/index.ts";
import { ouroboros } from "./ouroboros/index.ts";
import { phantom } from "./phantom/index.ts";
import { pi } from "./pi/index.ts";
import { qwenCode } from "./qwen-code/index.ts";
import { zed } from "./zed/index.ts";

/** Every family, by the part of an instance name before `@`. */
export const HARNESSES = {
  "claude-code": claudeCode,
  codex,
  "gemini-cli": geminiCli,
  "qwen-code": qwenCode,
  kilo,
  opencode,
  kimi,
  "kimi-code": kimiCode,
  pi,
  openclaw,
  "mistral-vibe": mistralVibe,
  kiro,
  dsh,
  goose,
  cline,
  crush,
  copilot,
  cursor,
  amp,
  zed,
  deepagents,
  openhands,
  phantom,
  ouroboros,
  agentd,
  atif,
  "mini-swe-agent": miniSweAgent,
} satisfies Record<string, Harness>;

export type Family = keyof typeof HARNESSES;

/** Families that have a part. */
export type FamilyWith<Part extends Exclude<keyof Harness, "name" | "docs">> = {
  [F in Family]: (typeof HARNESSES)[F][Part] extends None ? never : F;
}[Family];

type Parts = { [Part in Exclude<keyof Harness, "name" | "docs">]: Exclude<Harness[Part], None> };

/** The parts of a kind that are there, by family. */
export function partsOf<Part extends keyof Parts>(part: Part): (readonly [FamilyWith<Part>, Parts[Part]])[] {
  return Object.entries<Harness>(HARNESSES).flatMap(([family, harness]) => {
    const found = harness[part];
    return isNone(found) ? [] : [[family as FamilyWith<Part>, found as Parts[Part]] as const];
  });
}
