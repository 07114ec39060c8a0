import { type Harness, none } from "../harness.ts";
import { kiloBridge } from "./bridge.ts";
import { kiloLine } from "./line.ts";

export const kilo = {
  name: "Kilo",
  recordings: none("Its database is that of opencode, and is read as such."),
  contents: none("Its recordings are read as those of opencode."),
  telemetry: none("Its spans are those of the Vercel AI SDK."),
  connect: none("Its settings are not written by connect."),
  bridge: kiloBridge,
  line: kiloLine,
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
