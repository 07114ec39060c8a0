import { type Harness, none } from "../harness.ts";
import { phantomLine } from "./line.ts";

export const phantom = {
  name: "Phantom",
  recordings: none("Its guard reports each turn itself."),
  contents: none("No recording of it is read."),
  telemetry: none("Its guard reports each turn itself."),
  connect: none("Its guard reports each turn itself."),
  bridge: none("Its guard takes the policy itself."),
  line: phantomLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
