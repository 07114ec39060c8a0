import { familyOf } from "@plimsoll/protocol/pure";
import { claudeCodeLine } from "../claude-code/line.ts";
import { clineLine } from "../cline/line.ts";
import { codexLine } from "../codex/line.ts";
import { copilotLine } from "../copilot/line.ts";
import { crushLine } from "../crush/line.ts";
import { cursorLine } from "../cursor/line.ts";
import { deepagentsLine } from "../deepagents/line.ts";
import { geminiCliLine } from "../gemini-cli/line.ts";
import { gooseLine } from "../goose/line.ts";
import { kiloLine } from "../kilo/line.ts";
import { kimiLine } from "../kimi/line.ts";
import { opencodeLine } from "../opencode/line.ts";
import { ouroborosLine } from "../ouroboros/line.ts";
import { phantomLine } from "../phantom/line.ts";
import { piLine } from "../pi/line.ts";
import { qwenCodeLine } from "../qwen-code/line.ts";
import type { FamilyWith } from "../registry.ts";
import { zedLine } from "../zed/line.ts";
import type { FamilyLine } from "./family-line.ts";

const FAMILY_LINES: { readonly [Family in FamilyWith<"line">]: FamilyLine } = {
  "claude-code": claudeCodeLine,
  codex: codexLine,
  "gemini-cli": geminiCliLine,
  opencode: opencodeLine,
  kilo: kiloLine,
  copilot: copilotLine,
  cline: clineLine,
  goose: gooseLine,
  kimi: kimiLine,
  "qwen-code": qwenCodeLine,
  pi: piLine,
  crush: crushLine,
  zed: zedLine,
  deepagents: deepagentsLine,
  cursor: cursorLine,
  phantom: phantomLine,
  ouroboros: ouroborosLine,
};

const LINES: ReadonlyMap<string, FamilyLine> = new Map(Object.entries(FAMILY_LINES));

/** What is known of the levels of a harness's family; undefined for an unknown one. */
export const familyLine = (harness: string): FamilyLine | undefined => LINES.get(familyOf(harness));

/** Families whose own line is known. */
export const OWN_LINE_FAMILIES: readonly string[] = [...LINES].flatMap(([family, { own }]) =>
  own === undefined ? [] : [family],
);
