// What the orchestrator may write into its state file: a few lines at a time, and always JSON.
import { readFileSync } from "node:fs";

/** Lines and characters of one edit. */
const MOST_LINES = 20;
const MOST_CHARS = 4_000;

/** Returns why a whole state file is refused; undefined if it is not. */
export function refusedWrite({ content }, isRunning) {
  if (isRunning)
    return "The run is in progress: change the fields of one phase with Edit instead of writing its state again.";
  return isJson(content) ? undefined : "The state file must be JSON.";
}

/** Returns why an edit of the state file is refused; undefined if it is not. */
export function refusedEdit(path, { old_string: old = "", new_string: next = "", replace_all }) {
  const parts = readFileSync(path, "utf8").split(old);
  // The tool itself refuses an edit of nothing, and of what is not in the file.
  if (old === "" || parts.length === 1) return undefined;
  const times = replace_all === true ? parts.length - 1 : 1;
  const lines = times * Math.max(linesOf(old), linesOf(next));
  if (lines >= MOST_LINES)
    return `This edit of the state file has ${lines} lines. Edit only the fields that change, in fewer than ${MOST_LINES} lines.`;
  const chars = times * Math.max(old.length, next.length);
  if (chars > MOST_CHARS)
    return `This edit of the state file has ${chars} characters, and the limit is ${MOST_CHARS}. Write one field a line, and edit only those that change.`;
  const [head, ...tail] = parts;
  const after = replace_all === true ? parts.join(next) : head + next + tail.join(old);
  return isJson(after)
    ? undefined
    : "After this edit the state file would not be JSON. Check its commas and braces.";
}

const linesOf = (text) => text.split("\n").length;

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
