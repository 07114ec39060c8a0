import { type Harness, none } from "../harness.ts";

export const openhands = {
  name: "OpenHands",
  recordings: none("No recording of it with token counts is known."),
  contents: none("No recording of it is read."),
  telemetry: none("Its spans are those of Laminar, which other programs have too."),
  connect: none("Its settings are not written by connect."),
  bridge: none("The bridge does not write its settings yet."),
  line: none("Where it compacts is not known."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
