import type { ModelApi, ModelRequest, Script } from "./index.ts";

/** How each provider refuses a prompt that is too long. Tokens. */
const REFUSALS: Readonly<Record<ModelApi, (prompt: number, answer: number, window: number) => string>> = {
  anthropic: (prompt, answer, window) =>
    prompt > window
      ? `prompt is too long: ${prompt} tokens > ${window} maximum`
      : `input length and \`max_tokens\` exceed context limit: ${prompt} + ${answer} > ${window}, decrease input length or \`max_tokens\` and try again`,
  openai_chat: (prompt, answer, window) =>
    `This model's maximum context length is ${window} tokens. However, you requested ${prompt + answer} tokens (${prompt} in the messages, ${answer} in the completion). Please reduce the length of the messages or completion.`,
  openai_responses: (prompt, _, window) =>
    `Input tokens exceed the configured limit of ${window} tokens. Your messages resulted in ${prompt} tokens. Please reduce the length of the messages.`,
  gemini: (prompt, _, window) =>
    `The input token count (${prompt}) exceeds the maximum number of tokens allowed (${window}).`,
  ollama: (prompt, _, window) =>
    JSON.stringify({
      error: {
        code: 400,
        message: `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`,
        type: "exceed_context_size_error",
        n_prompt_tokens: prompt,
        n_ctx: window,
      },
    }),
  ollama_generate: () => "the input length exceeds the context length",
};

/** Tokens that a request reserves for its answer. */
function reservedTokens({ body }: ModelRequest): number {
  const { max_tokens, max_completion_tokens, max_output_tokens, options, generationConfig } = body;
  const { num_predict } = (options ?? {}) as { num_predict?: unknown };
  const { maxOutputTokens } = (generationConfig ?? {}) as { maxOutputTokens?: unknown };
  const limits = [max_tokens, max_completion_tokens, max_output_tokens, num_predict, maxOutputTokens];
  return Number(limits.find((limit) => typeof limit === "number") ?? 0);
}

/**
 * A server that refuses a call whose prompt and answer do not fit into the window of its model, in the words of the provider.
 * @param windowOf window by model, in tokens
 */
export function withinWindow(windowOf: (model: string) => number, script: Script): Script {
  return (request) => {
    const { api, model, promptTokens } = request;
    const window = windowOf(model);
    const answer = reservedTokens(request);
    if (promptTokens + answer <= window) return script(request);
    return { refuse: { status: 400, message: REFUSALS[api](promptTokens, answer, window) } };
  };
}
