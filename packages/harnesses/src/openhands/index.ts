import { type Harness, none } from "../harness.ts";

export const openhands = {
  name: "OpenHands",
  recordings: none("No recording of it with token counts is known."),
  telemetry: none("Its spans are those of Laminar, which other programs have too."),
  ownLine: none("Where it compacts is not known."),
} satisfies Harness;
