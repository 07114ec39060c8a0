import { type Harness, none } from "../harness.ts";

export const deepagents = {
  name: "Deep Agents",
  recordings: none("No recording of it with token counts is known."),
  ownLine: "deepagents",
} satisfies Harness;
