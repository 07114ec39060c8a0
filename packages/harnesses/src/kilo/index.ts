import { type Harness, none } from "../harness.ts";

export const kilo = {
  name: "Kilo",
  recordings: none("Its database is that of opencode, and is read as such."),
  telemetry: none("Its spans are those of the Vercel AI SDK."),
  ownLine: "kilo",
} satisfies Harness;
