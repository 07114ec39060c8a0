import { type Harness, none } from "../harness.ts";

export const cursor = {
  name: "Cursor",
  recordings: none("No recording of it with token counts is known."),
  telemetry: none("No telemetry of its own is known."),
  ownLine: none("Where it compacts is not known."),
} satisfies Harness;
