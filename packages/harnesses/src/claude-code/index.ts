import type { Harness } from "../harness.ts";
import { claudeCodeRecordings } from "./recordings.ts";

export const claudeCode = {
  name: "Claude Code",
  recordings: claudeCodeRecordings,
  ownLine: "claude-code",
} satisfies Harness;
