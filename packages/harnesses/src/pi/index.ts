import { type Harness, none } from "../harness.ts";
import { piBridge } from "./bridge.ts";
import { piLine } from "./line.ts";
import { piRecordings } from "./recordings.ts";

export const pi = {
  name: "pi",
  recordings: piRecordings,
  contents: "prompts, answers, calls and results | yes | the summary, and what is kept beside it",
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: piBridge,
  line: piLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
