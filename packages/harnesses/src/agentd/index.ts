import { type Harness, none } from "../harness.ts";
import { agentdRecordings } from "./recordings.ts";

export const agentd = {
  name: "agentd",
  recordings: agentdRecordings,
  contents: none("It keeps the beginnings of prompts and results alone."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: none("It takes the policy itself."),
  line: none("Its budget is in its recordings."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
