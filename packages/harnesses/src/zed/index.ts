import { type Harness, none } from "../harness.ts";
import { zedLine } from "./line.ts";
import { zedRecordings } from "./recordings.ts";

export const zed = {
  name: "Zed",
  recordings: zedRecordings,
  contents: none("It keeps one request for each prompt, and no times."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: none("The bridge does not write its settings yet."),
  line: zedLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
