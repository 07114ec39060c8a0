import { type Harness, none } from "../harness.ts";
import { ouroborosLine } from "./line.ts";
import { ouroborosRecordings } from "./recordings.ts";

export const ouroboros = {
  name: "Ouroboros",
  recordings: ouroborosRecordings,
  contents: none("Its logs have no prompts, and masking does not say which results it replaced."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: none("It takes the policy itself."),
  line: ouroborosLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
