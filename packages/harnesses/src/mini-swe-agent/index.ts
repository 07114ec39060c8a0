import { type Harness, none } from "../harness.ts";
import { miniSweAgentRecordings } from "./recordings.ts";

export const miniSweAgent = {
  name: "mini-SWE-agent",
  recordings: miniSweAgentRecordings,
  contents: "system prompt, prompts, answers, commands and their output | with the answers | it has none",
  telemetry: none("It sends no telemetry."),
  connect: none("It has no settings that report to a server."),
  bridge: none("It has no settings for a line."),
  line: none("It compacts nothing: a run ends at the limit of its model."),
  statusLine: none("It has no status line."),
} satisfies Harness;
