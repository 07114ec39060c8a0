import type { Harness } from "../harness.ts";
import { opencodeRecordings } from "./recordings.ts";

export const opencode = {
  name: "opencode",
  recordings: opencodeRecordings,
  ownLine: "opencode",
} satisfies Harness;
