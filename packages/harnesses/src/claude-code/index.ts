import type { Harness } from "../harness.ts";
import { claudeCodeBridge } from "./bridge.ts";
import { claudeCodeConnect } from "./connect.ts";
import { claudeCodeLine } from "./line.ts";
import { claudeCodeRecordings } from "./recordings.ts";
import { claudeCodeStatusLine } from "./status-line.ts";
import { claudeCodeTelemetry } from "./telemetry.ts";

export const claudeCode = {
  name: "Claude Code",
  recordings: claudeCodeRecordings,
  contents:
    "prompts, attachments, names of deferred tools, answers, calls and results | as far as it is in words | the summary, and what is kept beside it",
  telemetry: claudeCodeTelemetry,
  connect: claudeCodeConnect,
  bridge: claudeCodeBridge,
  line: claudeCodeLine,
  statusLine: claudeCodeStatusLine,
  docs: "claude-code | `~/.claude/settings.json` | with the [status line](#status-line) | yes | 2.1.332",
} satisfies Harness;
