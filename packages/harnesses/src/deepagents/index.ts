import { type Harness, none } from "../harness.ts";

export const deepagents = {
  name: "Deep Agents",
  recordings: none("No recording of it with token counts is known."),
  telemetry: none("Its spans are those of the library that traces it."),
  ownLine: "deepagents",
} satisfies Harness;
