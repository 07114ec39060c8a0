import { type Harness, none } from "../harness.ts";

export const goose = {
  name: "Goose",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  ownLine: "goose",
} satisfies Harness;
