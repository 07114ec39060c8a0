import { type Harness, none } from "../harness.ts";
import { agentdRecordings } from "./recordings.ts";

export const agentd = {
  name: "agentd",
  recordings: agentdRecordings,
  ownLine: none("Its budget is in its recordings."),
} satisfies Harness;
