// Keeps the orchestrator of a run a manager: it reads no details, and edits its state file in a few lines.
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { refusedEdit, refusedWrite } from "./edit-state.mjs";
import { hookInput, projectOf, readState, statePath } from "./run-state.mjs";

/** Plans, reports, source code and logs. A phase-runner reads them and returns one line. */
const DETAILED =
  /(?:^|[/_-])(?:UAT|PLAN|RESEARCH|SUMMARY|VERIFICATION|CONTEXT)[^/]*\.md$|\.(?:[cm]?[jt]sx?|py|rs|go|java|rb|cs|cpp|c|h|sql|log|jsonl)$/i;
/** Bytes of a file that the orchestrator may read: about 1,000 tokens. */
const MOST_BYTES = 4_000;
/** Commands that show no contents of files. A command may not contain another one. */
const PLAIN_COMMAND =
  /^(?:(?:ls|pwd|date|mkdir|git add|git commit)(?: [^;&|`$<>\n]*)?|git status(?: -s| --short)?)$/;
/** The plugin's folder, as Claude Code writes it into commands. */
const PLUGIN = process.env.CLAUDE_PLUGIN_ROOT || dirname(dirname(fileURLToPath(import.meta.url)));
const DELEGATE = "Start autopilot:phase-runner and use its summary.";

/** Returns why a call is refused; undefined if it is not. */
function refusal({ cwd, tool_name, tool_input = {}, agent_id }) {
  // A sub-agent does the work.
  if (agent_id !== undefined) return undefined;
  const project = projectOf(cwd);
  const path = real(resolve(cwd, String(tool_input.file_path ?? "")));
  const isState = path === real(statePath(project));
  const isRunning = readState(project)?.status === "running";
  if (tool_name === "Write") return isState ? refusedWrite(tool_input, isRunning) : undefined;
  // Without a run in progress, the session is an ordinary one.
  if (!isRunning) return undefined;
  if (tool_name === "Edit") return isState ? refusedEdit(path, tool_input) : undefined;
  if (tool_name === "Bash") return refusedCommand(String(tool_input.command ?? "").trim());
  if (tool_name === "Grep") return refusedSearch(tool_input);
  return isState ? undefined : refusedRead(path, relative(real(project), path));
}

function refusedSearch({ output_mode }) {
  return output_mode === "content" ? `The orchestrator must not read lines of files. ${DELEGATE}` : undefined;
}

function refusedRead(path, name) {
  if (DETAILED.test(name)) return `The orchestrator must not read ${name}: it contains details. ${DELEGATE}`;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return size > MOST_BYTES
    ? `The orchestrator must not read ${name}: it has ${size} bytes, and the limit is ${MOST_BYTES}. ${DELEGATE}`
    : undefined;
}

function refusedCommand(command) {
  return command === `node "${PLUGIN}/hooks/progress.mjs"` || PLAIN_COMMAND.test(command)
    ? undefined
    : `The orchestrator must not run "${command.slice(0, 80)}": it may show or change details. ${DELEGATE}`;
}

/** A path without links; of a file that does not exist, the path in its folder. */
function real(path) {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(real(dirname(path)), basename(path));
  }
}

const reason = refusal(await hookInput());
if (reason !== undefined) {
  const hookSpecificOutput = {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: reason,
  };
  process.stdout.write(JSON.stringify({ hookSpecificOutput }));
}
