import type { Conversation } from "../conversation/conversation.ts";

/** A tool that an agent may call, in the form that most clients take. */
export interface RecallTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: {
    type: "object";
    properties: { key: { type: "string"; description: string } };
    required: ["key"];
    additionalProperties: false;
  };
  /** Returns the whole text, or what to do if there is none. Never throws. */
  execute(args: { key: string }): string;
}

/**
 * Creates the tool with which an agent reads a masked result again. The guard needs a `store`; its placeholders then name the
 * key. What the tool returns is a result like any other, and is masked again when it is old.
 * @example
 * const recall = recallTool(guard.conversation("thread-91"));
 * const { execute, ...definition } = recall;
 */
export function recallTool<M>(conversation: Conversation<M>): RecallTool {
  return {
    name: "recall",
    description:
      "Returns the whole text of an earlier tool result that was replaced by a placeholder or removed with its turn. " +
      "The placeholder or the list of removed results names the key.",
    parameters: {
      type: "object",
      properties: { key: { type: "string", description: "The recall key." } },
      required: ["key"],
      additionalProperties: false,
    },
    execute({ key }) {
      return (
        conversation.recall(key) ??
        `Nothing is stored under the key ${JSON.stringify(key)}. Run the tool again that gave the result.`
      );
    },
  };
}
