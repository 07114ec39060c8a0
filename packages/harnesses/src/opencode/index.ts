import { type Harness, none } from "../harness.ts";
import { opencodeBridge } from "./bridge.ts";
import { opencodeConnect } from "./connect.ts";
import { opencodeLine } from "./line.ts";
import { opencodeRecordings } from "./recordings.ts";

export const opencode = {
  name: "opencode",
  recordings: opencodeRecordings,
  contents:
    "prompts, attached files, answers, calls and results | yes | the summary, and what is kept beside it",
  telemetry: none("Its spans are those of the Vercel AI SDK."),
  connect: opencodeConnect,
  bridge: opencodeBridge,
  line: opencodeLine,
  statusLine: none("It passes no level to a command."),
  docs: "opencode | `opencode.json`, a function in the shell's start file | with [its server](#a-server-of-opencode) | with its server | 1.18.33",
} satisfies Harness;
