import { type Harness, none } from "../harness.ts";
import { openclawRecordings } from "./recordings.ts";

export const openclaw = {
  name: "OpenClaw",
  recordings: openclawRecordings,
  contents: "prompts, answers, calls and results | yes | the summary, and what is kept beside it",
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: none("Its reserve is built in, and its settings are not written."),
  line: none("Where it compacts depends on its settings and the model."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
