type Sent = Readonly<Record<string, unknown>>;
type Block = Record<string, unknown>;

interface ClearToolUses {
  type: string;
  trigger?: { type: string; value: number };
  keep?: { value: number };
  clear_at_least?: { value: number } | null;
  exclude_tools?: string[] | null;
}

/** Documented defaults of `clear_tool_uses_20250919`. */
const TRIGGER = 100_000;
const KEEP = 3;
/** What the model reads instead of a result. Its wording is not documented. */
const PLACEHOLDER = "[Old tool result content cleared]";

/**
 * Applies Anthropic's documented rules for clearing the results of tools: above `trigger`, all but the `keep` newest results
 * are replaced, oldest first, unless that clears less than `clear_at_least`. The API keeps no state: the client sends its whole
 * history with every call.
 * @param count tokens of a prompt with these messages
 * @returns undefined if the request has no such edit, or nothing was cleared
 */
export function editedContext(
  body: Readonly<Record<string, unknown>>,
  count: (messages: readonly Sent[]) => number,
): { messages: readonly Sent[]; fields: Record<string, unknown> } | undefined {
  const { edits = [] } = (body.context_management ?? {}) as { edits?: ClearToolUses[] };
  const edit = edits.find(({ type }) => type === "clear_tool_uses_20250919");
  if (edit === undefined) return undefined;
  const given = body.messages as readonly Sent[];
  const before = count(given);
  const blocks = given.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []));
  const uses = blocks.filter(({ type }) => type === "tool_use");
  const { trigger = { type: "input_tokens", value: TRIGGER }, keep = { value: KEEP } } = edit;
  if ((trigger.type === "tool_uses" ? uses.length : before) <= trigger.value) return undefined;
  const excluded = new Set(edit.exclude_tools ?? []);
  const clearable = uses.filter(({ name }) => !excluded.has(String(name)));
  const cleared = new Set(clearable.slice(0, Math.max(0, clearable.length - keep.value)).map(({ id }) => id));
  const clear = (block: Block) =>
    block.type === "tool_result" && cleared.has(block.tool_use_id)
      ? { ...block, content: PLACEHOLDER }
      : block;
  const messages = given.map((message) =>
    Array.isArray(message.content)
      ? { ...message, content: (message.content as Block[]).map(clear) }
      : message,
  );
  const tokens = before - count(messages);
  if (cleared.size === 0 || tokens < (edit.clear_at_least?.value ?? 0)) return undefined;
  const applied = { type: edit.type, cleared_tool_uses: cleared.size, cleared_input_tokens: tokens };
  return { messages, fields: { context_management: { applied_edits: [applied] } } };
}
