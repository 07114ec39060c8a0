import { type Harness, none } from "../harness.ts";
import { gooseBridge } from "./bridge.ts";
import { gooseLine } from "./line.ts";
import { gooseRecordings } from "./recordings.ts";

export const goose = {
  name: "Goose",
  recordings: gooseRecordings,
  contents: none("Its ledger is read without the messages."),
  telemetry: none("No telemetry of its own is known."),
  connect: none("Its settings are not written by connect."),
  bridge: gooseBridge,
  line: gooseLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
