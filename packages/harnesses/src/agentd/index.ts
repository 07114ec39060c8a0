import { type Harness, none } from "../harness.ts";
import { agentdRecordings } from "./recordings.ts";

export const agentd = {
  name: "agentd",
  recordings: agentdRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: none("Its budget is in its recordings."),
} satisfies Harness;
