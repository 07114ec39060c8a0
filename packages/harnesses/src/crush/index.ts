import { type Harness, none } from "../harness.ts";
import { crushBridge } from "./bridge.ts";
import { crushLine } from "./line.ts";

export const crush = {
  name: "Crush",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  contents: none("No recording of it is read."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: crushBridge,
  line: crushLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
