// Prints the phases of the run in the current folder.
import { projectOf, readState } from "./run-state.mjs";

const state = readState(projectOf(process.cwd()));
const cell = (value) =>
  String(value ?? "-")
    .replaceAll("|", "/")
    .replace(/\s+/g, " ");
if (state === undefined) {
  console.log("No run in this folder. Start one with /autopilot:autopilot.");
} else {
  console.log("| Phase | Status | Score | Notes |\n| --- | --- | --- | --- |");
  for (const [id, { name, status, score, summary }] of Object.entries(state.phases ?? {}))
    console.log(`| ${cell(id)} ${cell(name)} | ${cell(status)} | ${cell(score)} | ${cell(summary)} |`);
}
