import { type Harness, none } from "../harness.ts";
import { ouroborosRecordings } from "./recordings.ts";

export const ouroboros = {
  name: "Ouroboros",
  recordings: ouroborosRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: none("Its thresholds are a preset of the policy."),
} satisfies Harness;
