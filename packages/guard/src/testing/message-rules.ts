type Sent = Readonly<Record<string, unknown>>;

/** Returns why a server refuses the messages, or undefined if it takes them. */
export type MessageRule = (messages: readonly Sent[]) => string | undefined;

const callsOf = (message: Sent | undefined) =>
  ((message?.tool_calls ?? []) as { id: string }[]).map(({ id }) => id);

/** OpenAI: each call is answered at once, and each result has its call. */
const openai: MessageRule = (messages) => {
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
const mistral: MessageRule = (messages) => {
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
const alternating: MessageRule = (messages) => {
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
const anthropic: MessageRule = (messages) => {
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

type GeminiPart = { text?: string; functionCall?: Sent; functionResponse?: Sent; thoughtSignature?: string };

/** Gemini: calls follow the user, one answer for each call follows at once, and calls keep their signature. */
const gemini: MessageRule = (contents) => {
  let calls = 0;
  let before: string | undefined;
  for (const [index, { role, parts }] of contents.entries()) {
    const said = (parts ?? []) as GeminiPart[];
    if (role !== "user" && role !== "model")
      return `contents[${index}].role: Please use a valid role: user, model.`;
    if (said.length === 0) return `contents[${index}].parts: must not be empty`;
    if (said.some((part) => Object.keys(part).length === 0 || part.text === ""))
      return `contents[${index}].parts: required oneof field 'data' must have one initialized field`;
    const made = said.filter(({ functionCall }) => functionCall !== undefined);
    const answered = said.filter(({ functionResponse }) => functionResponse !== undefined);
    if (made.length > 0 && before !== "user" && calls === 0)
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    if (calls > 0 && role === "user" && answered.length !== calls)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    if (answered.length > 0 && (role !== "user" || calls === 0))
      return "Please ensure that function response turn comes immediately after a function call turn.";
    if (answered.length > 0 && answered.length !== said.length)
      return "Please ensure that a function response turn has no other parts.";
    if (made.length > 0 && calls === 0 && made[0]!.thoughtSignature === undefined)
      return "Function call is missing a thought_signature in functionCall parts.";
    // A streamed answer is stored as several contents.
    calls = role === "model" ? calls + made.length : 0;
    before = role;
  }
  return before === "user" ? undefined : "Please ensure that the last turn is of the user.";
};

/** Servers that refuse what others take. */
export const MESSAGE_RULES = { openai, mistral, alternating, anthropic, gemini } as const;
