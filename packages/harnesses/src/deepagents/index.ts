import { type Harness, none } from "../harness.ts";
import { deepagentsLine } from "./line.ts";

export const deepagents = {
  name: "Deep Agents",
  recordings: none("No recording of it with token counts is known."),
  contents: none("No recording of it is read."),
  telemetry: none("Its spans are those of the library that traces it."),
  connect: none("Its settings are not written by connect."),
  bridge: none("The bridge does not write its settings yet."),
  line: deepagentsLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
