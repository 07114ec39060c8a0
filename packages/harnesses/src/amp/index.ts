import { type Harness, none } from "../harness.ts";
import { ampRecordings } from "./recordings.ts";

export const amp = {
  name: "Amp",
  recordings: ampRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: none("Where it compacts is not known."),
} satisfies Harness;
