import { type Harness, none } from "../harness.ts";
import { kimiCodeBridge } from "./bridge.ts";

export const kimiCode = {
  name: "Kimi Code",
  recordings: none("Its files are those of Kimi CLI, and are read as such."),
  contents: none("Its recordings are read as those of Kimi CLI."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: kimiCodeBridge,
  line: none("Where it compacts is not known."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
