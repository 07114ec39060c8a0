import { type Harness, none } from "../harness.ts";
import { codexBridge } from "./bridge.ts";
import { codexConnect } from "./connect.ts";
import { codexLine } from "./line.ts";
import { codexRecordings } from "./recordings.ts";
import { codexTelemetry } from "./telemetry.ts";

export const codex = {
  name: "Codex",
  recordings: codexRecordings,
  contents:
    "instructions, prompts, answers, calls and results | encrypted | the summary and the kept prompts, unless they are encrypted",
  telemetry: codexTelemetry,
  connect: codexConnect,
  bridge: codexBridge,
  line: codexLine,
  statusLine: none("It passes no level to a command."),
  docs: "codex | `~/.codex/config.toml`, `.env` | no | with its [hook](#hooks) | 0.171.0",
} satisfies Harness;
