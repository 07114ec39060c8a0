// Keeps the orchestrator of a run a manager: it reads no details, and edits its state file in a few lines.
import { existsSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { hookInput, readState, statePath } from "./run-state.mjs";

/** Plans, reports, source code and logs. A phase-runner reads them and returns one line. */
const DETAILED =
  /(?:^|[/_-])(?:UAT|PLAN|RESEARCH|SUMMARY|VERIFICATION|CONTEXT)[^/]*\.md$|\.(?:[cm]?[jt]sx?|py|rs|go|java|rb|cs|cpp|c|h|sql|log|jsonl)$/i;
/** Bytes of a file that the orchestrator may read: about 1,000 tokens. */
const MOST_BYTES = 4_000;
/** Lines of one edit of the state file. */
const MOST_LINES = 20;

/** Returns why a call is refused; undefined if it is not. */
function refusal({ cwd, tool_name, tool_input, agent_id }) {
  // A sub-agent does the work. Without a run in progress, the session is an ordinary one.
  if (agent_id !== undefined || readState(cwd)?.status !== "running") return undefined;
  const path = resolve(cwd, String(tool_input?.file_path ?? ""));
  const isState = path === resolve(statePath(cwd));
  if (tool_name === "Write")
    return isState && existsSync(path)
      ? "The state file exists: change the fields of one phase with Edit instead of writing it again."
      : undefined;
  if (tool_name === "Edit") {
    const lines = String(tool_input?.new_string ?? "").split("\n").length;
    return isState && lines >= MOST_LINES
      ? `This edit of the state file has ${lines} lines. Edit only the fields that change, in fewer than ${MOST_LINES} lines.`
      : undefined;
  }
  if (isState) return undefined;
  const name = relative(cwd, path);
  if (DETAILED.test(name)) return `The orchestrator must not read ${name}: it contains details. ${DELEGATE}`;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return size > MOST_BYTES
    ? `The orchestrator must not read ${name}: it has ${size} bytes, and the limit is ${MOST_BYTES}. ${DELEGATE}`
    : undefined;
}

const DELEGATE = "Start autopilot:phase-runner and use its summary.";

const reason = refusal(await hookInput());
if (reason !== undefined) {
  const hookSpecificOutput = {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: reason,
  };
  process.stdout.write(JSON.stringify({ hookSpecificOutput }));
}
