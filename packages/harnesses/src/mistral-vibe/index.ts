import { type Harness, none } from "../harness.ts";
import { mistralVibeRecordings } from "./recordings.ts";

export const mistralVibe = {
  name: "Mistral Vibe",
  recordings: mistralVibeRecordings,
  contents: none("Its messages have no times, and only the last call is counted."),
  telemetry: none("It reports to its maker alone, without levels."),
  connect: none("Its settings are not written by connect."),
  bridge: none("Its auto_compact_threshold is not written yet."),
  line: none("Where it compacts is a setting of each model."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
