import type { Harness } from "../harness.ts";
import { zedRecordings } from "./recordings.ts";

export const zed = {
  name: "Zed",
  recordings: zedRecordings,
  ownLine: "zed",
} satisfies Harness;
