type Sent = Readonly<Record<string, unknown>>;

/** Returns why a server refuses the messages, or undefined if it takes them. */
export type Dialect = (messages: readonly Sent[]) => string | undefined;

const callsOf = (message: Sent | undefined) =>
  ((message?.tool_calls ?? []) as { id: string }[]).map(({ id }) => id);

/** OpenAI: each call is answered at once, and each result has its call. */
const openai: Dialect = (messages) => {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    const { role, tool_call_id: id } = message;
    if (role === "tool") {
      if (!open.includes(String(id))) return `messages[${index}]: a tool message without its tool call`;
      open = open.filter((one) => one !== id);
      continue;
    }
    if (open.length > 0) return `messages[${index}]: tool calls without results: ${open.join(", ")}`;
    open = callsOf(message);
  }
  return open.length > 0 ? `tool calls without results: ${open.join(", ")}` : undefined;
};

/** Mistral: like OpenAI, and a result is followed by the agent or another result. */
const mistral: Dialect = (messages) => {
  for (const [index, { role }] of messages.entries()) {
    const before = messages[index - 1]?.role;
    if (role === "user" && before === "tool") return "Unexpected role 'user' after role 'tool'";
    if (role === "system" && index > 0 && before !== "system")
      return `Unexpected role 'system' after role '${before}'`;
  }
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.prefix !== true)
    return "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
  return openai(messages);
};

/** Chat templates of vLLM and llama.cpp: user and agent alternate; calls and their results stand between. */
const alternating: Dialect = (messages) => {
  const told = messages.filter(({ role }, index) => !(role === "system" && index === 0));
  let next = "user";
  for (const message of told) {
    if (message.role === "tool" || callsOf(message).length > 0) continue;
    if (message.role !== next)
      return "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
    next = next === "user" ? "assistant" : "user";
  }
  return openai(messages);
};

/** Anthropic: the user begins, and the results of all calls are the first blocks of the next message. */
const anthropic: Dialect = (messages) => {
  if (messages[0]?.role !== "user") return "messages: first message must use the user role";
  let open: unknown[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== "user" && role !== "assistant") return `messages.${index}.role: unexpected ${role}`;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content as Sent[]);
    if (blocks.length === 0 || blocks.some(({ type, text }) => type === "text" && text === ""))
      return `messages.${index}: text content blocks must be non-empty`;
    const results = blocks.filter(({ type }) => type === "tool_result").map((block) => block.tool_use_id);
    if (results.length > 0 && blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
      return `messages.${index}: tool_result blocks must come first`;
    if (open.length !== results.length || open.some((id) => !results.includes(id)))
      return `messages.${index}: tool_use ids were found without tool_result blocks immediately after`;
    open = role === "assistant" ? blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id) : [];
  }
  return open.length > 0 ? "tool_use ids were found without tool_result blocks" : undefined;
};

/** Servers that refuse what others take. */
export const DIALECTS = { openai, mistral, alternating, anthropic } as const;
