import { z } from "zod";
import type { ToolAnswer } from "./answers.ts";

const READ_ONLY = { readOnlyHint: true, openWorldHint: false };

const tokens = z.int().min(0).max(100_000_000);

/** The tools of an agent as a client lists them. Every session of a harness pays for these words. */
export const TOOLS = {
  headroom: {
    description:
      "How much room your context window has left: plenty, plan_a_checkpoint or checkpoint_now, and steps until your line. Ask before long work.",
    inputSchema: z.object({ detail: z.boolean().optional().describe("also token counts") }),
    annotations: READ_ONLY,
  },
  will_it_fit: {
    description: "Whether something fits below your line. Give one of the three.",
    inputSchema: z.object({
      tokens: tokens.optional(),
      path: z.string().max(4_096).optional().describe("a file to read"),
      tool: z.string().max(256).optional().describe("a tool, by its median result so far"),
    }),
    annotations: READ_ONLY,
  },
  what_fills: {
    description: "What fills your window: shares by kind, tool and MCP server, and the largest things.",
    inputSchema: z.object({}),
    annotations: READ_ONLY,
  },
  what_was_dropped: {
    description:
      "Rules, sentences of prompts and files that the latest compaction dropped, and your checkpoint.",
    inputSchema: z.object({}),
    annotations: READ_ONLY,
  },
  checkpoint: {
    description:
      "Keep a note for yourself, which comes back after the next compaction: what is done, what is next, what must hold. It replaces the last one.",
    inputSchema: z.object({ note: z.string().max(100_000) }),
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
} as const;

/** `will_it_fit` of a server that is not on the agent's machine, so that it sees neither files nor results. */
export const TOKENS_FIT = {
  description: "Whether a number of tokens fits below your line.",
  inputSchema: z.strictObject({ tokens }),
  annotations: READ_ONLY,
};

/** What a refused call may do. Of the other refusals, the name says enough. */
const HINTS: Partial<Record<string, string>> = {
  call_again: "Nothing tied this call to a session yet. Call again.",
  not_recorded: "No recording of this session on this machine shows the call.",
  not_counted: "Your harness counts a call when its tools have run, and has counted none yet. Call again.",
  several_sessions: "Several sessions match this call.",
  other_session: "The call is from another session than the one that was stated.",
  no_session: "State the session in the header Plimsoll-Session.",
  no_agent:
    "Agents of this harness share the headers. State the one that has the tools in the header Plimsoll-Agent.",
  unknown_session: "The server has no turn of this session and agent.",
  several_agents: "The session has several agents. State one in the header Plimsoll-Agent.",
  no_contents: "Nothing shows what fills the window.",
  sub_agent: "Only the main agent gets a note back. Return what you know in your answer.",
  unavailable: "The server cannot read the level now. Try again later.",
};

export const refused = (reason: string, more: ToolAnswer = {}): ToolAnswer => ({
  refused: reason,
  ...(HINTS[reason] !== undefined && { hint: HINTS[reason] }),
  ...more,
});

/** An answer as the result of a tool. */
export function resultOf(answer: ToolAnswer) {
  return {
    content: [{ type: "text" as const, text: JSON.stringify(answer) }],
    ...("refused" in answer && { isError: true }),
  };
}
