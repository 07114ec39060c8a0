import type { Harness } from "../harness.ts";
import { piRecordings } from "./recordings.ts";

export const pi = {
  name: "pi",
  recordings: piRecordings,
  ownLine: "pi",
} satisfies Harness;
