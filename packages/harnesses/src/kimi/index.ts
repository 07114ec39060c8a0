import { type Harness, none } from "../harness.ts";
import { kimiBridge } from "./bridge.ts";
import { kimiLine } from "./line.ts";
import { kimiRecordings } from "./recordings.ts";

export const kimi = {
  name: "Kimi CLI",
  recordings: kimiRecordings,
  contents:
    "prompts, answers, calls and results; of Kimi Code also the system prompt and the definitions of tools | yes | Kimi Code: the summary, but not which prompts it keeps",
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: kimiBridge,
  line: kimiLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
