/** Input of the SDK's hook that runs once after all tool calls of a response. */
export interface ToolBatch {
  agent_id?: string;
  tool_calls?: readonly { tool_use_id: string; tool_name: string; tool_response?: unknown }[];
}

/** Hooks in the SDK's format, by event. */
export type SdkHooks = Readonly<Record<string, readonly unknown[]>>;

/** What the SDK's hook after a batch of tools may answer. */
export interface BatchAnswer {
  /** False ends the query before the next call. */
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?: { hookEventName: "PostToolBatch"; additionalContext: string };
}

/** Ends the query at this step. */
export const STOP: BatchAnswer = { continue: false, stopReason: "The context has reached its line." };

/** A person may take this long to confirm. Seconds. */
const HOOK_SECONDS = 3_600;

/**
 * Adds a hook that decides at each step of the main agent, when all tools of a response have answered. The messages
 * that the SDK wrote before have then reached their reader.
 */
export function withStepHook(
  given: unknown,
  onStep: (batch: ToolBatch) => BatchAnswer | Promise<BatchAnswer>,
): SdkHooks {
  const hooks = (given ?? {}) as SdkHooks;
  const hook = async (batch: ToolBatch): Promise<BatchAnswer> => {
    if (batch.agent_id !== undefined) return {};
    // The SDK calls the hook before it hands on messages that it has read.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return onStep(batch);
  };
  const matcher = { hooks: [hook], timeout: HOOK_SECONDS };
  return { ...hooks, PostToolBatch: [...(hooks.PostToolBatch ?? []), matcher] };
}
