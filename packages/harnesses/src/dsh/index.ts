import { type Harness, none } from "../harness.ts";
import { dshRecordings } from "./recordings.ts";

export const dsh = {
  name: "DeepSeek Harness",
  recordings: dshRecordings,
  contents: none("How it writes the results of tools is not known."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: none("Its plugins decide where it compacts, and their settings are not written."),
  line: none("Where it compacts depends on its plugins."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
