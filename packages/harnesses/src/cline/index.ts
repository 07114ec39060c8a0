import { type Harness, none } from "../harness.ts";
import { clineBridge } from "./bridge.ts";
import { clineConnect } from "./connect.ts";
import { clineLine } from "./line.ts";
import { clineRecordings } from "./recordings.ts";
import { clineTelemetry } from "./telemetry.ts";

export const cline = {
  name: "Cline",
  recordings: clineRecordings,
  contents:
    "the command line: prompts, answers, calls and results | yes | the summary, but not surely all that is kept",
  telemetry: clineTelemetry,
  connect: clineConnect,
  bridge: clineBridge,
  line: clineLine,
  statusLine: none("It passes no level to a command."),
  docs: "cline | a function in the shell's start file | no | yes |",
} satisfies Harness;
