import type { Harness } from "../harness.ts";
import { claudeCodeRecordings } from "./recordings.ts";
import { claudeCodeTelemetry } from "./telemetry.ts";

export const claudeCode = {
  name: "Claude Code",
  recordings: claudeCodeRecordings,
  telemetry: claudeCodeTelemetry,
  ownLine: "claude-code",
} satisfies Harness;
