import { at, countAt } from "../fields.ts";
import type { StatusLine } from "../status-line.ts";

const LEVEL = ["context_window", "current_context_tokens"];
const LIMIT = ["context_window", "displayed_context_limit"];

export const copilotStatusLine: StatusLine = {
  level(value) {
    if (at(value, LEVEL) === undefined && at(value, LIMIT) === undefined) return undefined;
    return {
      tokens: countAt(value, LEVEL) || undefined,
      windowTokens:
        countAt(value, LIMIT) || countAt(value, ["context_window", "context_window_size"]) || undefined,
      usage: undefined,
    };
  },
};
