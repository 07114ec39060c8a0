import { type Harness, none } from "../harness.ts";
import { gooseBridge } from "./bridge.ts";
import { gooseLine } from "./line.ts";

export const goose = {
  name: "Goose",
  recordings: none("It stores the totals of a session only, which are sums over requests."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: gooseBridge,
  line: gooseLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
