import { type Harness, none } from "../harness.ts";
import { zedRecordings } from "./recordings.ts";

export const zed = {
  name: "Zed",
  recordings: zedRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: "zed",
} satisfies Harness;
