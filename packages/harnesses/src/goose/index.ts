import { type Harness, none } from "../harness.ts";

export const goose = {
  name: "Goose",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  telemetry: none("No telemetry of its own is known."),
  ownLine: "goose",
} satisfies Harness;
