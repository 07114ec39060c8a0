import type { Harness } from "../harness.ts";
import { copilotBridge } from "./bridge.ts";
import { copilotConnect } from "./connect.ts";
import { copilotLine } from "./line.ts";
import { copilotRecordings } from "./recordings.ts";
import { copilotStatusLine } from "./status-line.ts";
import { copilotTelemetry } from "./telemetry.ts";

export const copilot = {
  name: "Copilot CLI",
  recordings: copilotRecordings,
  contents:
    "system prompt, prompts, skills, answers, calls and results; nothing after messages were cut off | yes | the summary, but not what is kept beside it",
  telemetry: copilotTelemetry,
  connect: copilotConnect,
  bridge: copilotBridge,
  line: copilotLine,
  statusLine: copilotStatusLine,
  docs: "github-copilot | a function in the shell's start file | no | yes, and truncation | 1.0.102",
} satisfies Harness;
