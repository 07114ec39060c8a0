import { type Harness, none } from "../harness.ts";

export const crush = {
  name: "Crush",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  ownLine: "crush",
} satisfies Harness;
