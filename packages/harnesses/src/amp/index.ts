import { type Harness, none } from "../harness.ts";
import { ampBridge } from "./bridge.ts";
import { ampRecordings } from "./recordings.ts";

export const amp = {
  name: "Amp",
  recordings: ampRecordings,
  contents: "prompts, answers, calls and results | yes | it has none",
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: ampBridge,
  line: none("Where it compacts is not known."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
