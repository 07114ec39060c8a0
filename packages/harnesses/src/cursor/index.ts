import { type Harness, none } from "../harness.ts";
import { cursorBridge } from "./bridge.ts";
import { cursorLine } from "./line.ts";

export const cursor = {
  name: "Cursor",
  recordings: none("No recording of it with token counts is known."),
  contents: none("No recording of it is read."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: cursorBridge,
  line: cursorLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
