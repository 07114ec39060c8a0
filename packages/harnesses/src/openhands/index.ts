import { type Harness, none } from "../harness.ts";

export const openhands = {
  name: "OpenHands",
  recordings: none("No recording of it with token counts is known."),
  ownLine: none("Where it compacts is not known."),
} satisfies Harness;
