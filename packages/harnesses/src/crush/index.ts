import { type Harness, none } from "../harness.ts";

export const crush = {
  name: "Crush",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  telemetry: none("No telemetry of its own is known."),
  ownLine: "crush",
} satisfies Harness;
