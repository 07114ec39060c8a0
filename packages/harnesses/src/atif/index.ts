import { type Harness, none } from "../harness.ts";
import { atifRecordings } from "./recordings.ts";

/** The format in which Harbor writes the runs of any agent. */
export const atif = {
  name: "ATIF",
  recordings: atifRecordings,
  contents:
    "system prompt, definitions of tools, prompts, answers, calls and results | yes | only what follows",
  telemetry: none("It is a format of files."),
  connect: none("It is a format of files."),
  bridge: none("It is a format of files."),
  line: none("It is a format that the runs of many harnesses are written in."),
  statusLine: none("It is a format of files."),
} satisfies Harness;
