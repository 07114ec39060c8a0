import type { MaskStore } from "../conversation/types.ts";
import { capOutput } from "./cap-output.ts";

/** Input of the SDK's hook that runs after one tool call. */
interface ToolCallEnded {
  agent_id?: unknown;
  tool_name?: unknown;
  tool_use_id?: unknown;
  tool_response?: unknown;
}

const MAX_CHARS = 40_000;

/**
 * The SDK's hook that shortens the output of a tool before it enters the context.
 * @param onCut gets the tool, the number of characters left out, and the sub-agent if one called the tool
 */
export function cappedOutputs(
  { maxToolOutputChars = MAX_CHARS, store }: { maxToolOutputChars?: number; store?: MaskStore },
  onCut: (cut: { tool?: string; characters: number }, agent: string | undefined) => void,
) {
  return async (ended: ToolCallEnded): Promise<object> => {
    const capped = capOutput(ended.tool_response, maxToolOutputChars);
    if (capped === undefined || !stored(ended, store)) return {};
    const tool = typeof ended.tool_name === "string" ? { tool: ended.tool_name } : {};
    const agent = typeof ended.agent_id === "string" ? ended.agent_id : undefined;
    onCut({ ...tool, characters: capped.leftOut }, agent);
    return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: capped.output } };
  };
}

/** Stores the full output. Returns false on failure; the output must then not be shortened. */
function stored({ tool_use_id, tool_response }: ToolCallEnded, store: MaskStore | undefined): boolean {
  try {
    store?.put(String(tool_use_id), JSON.stringify(tool_response));
    return true;
  } catch {
    return false;
  }
}
