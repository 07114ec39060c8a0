import { type Harness, none } from "../harness.ts";
import { kimiRecordings } from "./recordings.ts";

export const kimi = {
  name: "Kimi CLI",
  recordings: kimiRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: "kimi",
} satisfies Harness;
