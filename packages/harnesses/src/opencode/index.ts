import { type Harness, none } from "../harness.ts";
import { opencodeRecordings } from "./recordings.ts";

export const opencode = {
  name: "opencode",
  recordings: opencodeRecordings,
  telemetry: none("Its spans are those of the Vercel AI SDK."),
  ownLine: "opencode",
} satisfies Harness;
