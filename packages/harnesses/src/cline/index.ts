import type { Harness } from "../harness.ts";
import { clineRecordings } from "./recordings.ts";

export const cline = {
  name: "Cline",
  recordings: clineRecordings,
  ownLine: "cline",
} satisfies Harness;
