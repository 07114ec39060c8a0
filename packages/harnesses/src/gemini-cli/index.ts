import { type Harness, none } from "../harness.ts";
import { geminiCliBridge } from "./bridge.ts";
import { geminiCliConnect } from "./connect.ts";
import { geminiCliLine } from "./line.ts";
import { geminiCliRecordings } from "./recordings.ts";
import { geminiCliTelemetry } from "./telemetry.ts";

export const geminiCli = {
  name: "Gemini CLI",
  recordings: geminiCliRecordings,
  contents:
    "prompts, answers, calls and results; nothing after a rewind | not sent again | all that is sent from then on",
  telemetry: geminiCliTelemetry,
  connect: geminiCliConnect,
  bridge: geminiCliBridge,
  line: geminiCliLine,
  statusLine: none("It passes no level to a command."),
  docs: "gemini-cli | `~/.gemini/settings.json`, `.env` | no | yes, and masking | 0.61.0",
} satisfies Harness;
