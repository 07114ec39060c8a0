import { type Harness, none } from "../harness.ts";
import { qwenCodeBridge } from "./bridge.ts";
import { qwenCodeConnect } from "./connect.ts";
import { qwenCodeLine } from "./line.ts";
import { qwenCodeRecordings } from "./recordings.ts";
import { qwenCodeTelemetry } from "./telemetry.ts";

export const qwenCode = {
  name: "Qwen Code",
  recordings: qwenCodeRecordings,
  contents:
    "prompts, answers, calls and results; nothing after a rewind | yes | all that is sent from then on",
  telemetry: qwenCodeTelemetry,
  connect: qwenCodeConnect,
  bridge: qwenCodeBridge,
  line: qwenCodeLine,
  statusLine: none("It passes no level to a command."),
  docs: "qwen-code | `~/.qwen/settings.json` | yes | yes | 0.24.4",
} satisfies Harness;
