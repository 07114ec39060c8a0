import type { Harness } from "../harness.ts";
import { copilotRecordings } from "./recordings.ts";

export const copilot = {
  name: "Copilot CLI",
  recordings: copilotRecordings,
  ownLine: "copilot",
} satisfies Harness;
