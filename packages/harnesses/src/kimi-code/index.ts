import { type Harness, none } from "../harness.ts";

export const kimiCode = {
  name: "Kimi Code",
  recordings: none("Its files are those of Kimi CLI, and are read as such."),
  telemetry: none("No telemetry of its own is known."),
  ownLine: none("Where it compacts is not known."),
} satisfies Harness;
