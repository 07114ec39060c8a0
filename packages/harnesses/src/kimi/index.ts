import type { Harness } from "../harness.ts";
import { kimiRecordings } from "./recordings.ts";

export const kimi = {
  name: "Kimi CLI",
  recordings: kimiRecordings,
  ownLine: "kimi",
} satisfies Harness;
