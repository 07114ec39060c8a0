/** What a provider said about a prompt that it refused as too long. Tokens. */
export interface PromptRefusal {
  windowTokens?: number;
  promptTokens?: number;
  /** By how much the prompt exceeds the window, where the provider says nothing else. */
  excessTokens?: number;
}

/** `#` is a number. The groups are `window`, `prompt`, `output` and `excess`. */
const WORDINGS: readonly RegExp[] = [
  // Anthropic, also on Bedrock and Vertex AI
  "prompt is too long: prompt# tokens > window# maximum",
  "exceed context limit: prompt# \\+ output# > window#",
  // Gemini
  "input token count \\(prompt#\\) exceeds the maximum number of tokens allowed:? \\(?window#",
  "input token count exceeds the maximum number of tokens allowed:? \\(?window#",
  // llama.cpp, and Ollama with `truncate: false`
  "request \\(prompt# tokens\\) exceeds the available context size \\(window# tokens",
  "n_prompt_tokens\\W{1,6}prompt#\\W{1,6}n_ctx\\W{1,6}window#",
  // Ollama's cloud
  "exceeded max context length by excess# tokens",
  // Mistral
  "prompt contains prompt# tokens.{0,80}too large for model with window# maximum context length",
  // SGLang, Together
  "input \\(prompt# tokens\\) is longer than the model's context length \\(window# tokens",
  "input length \\(prompt#\\) exceeds model's maximum context length \\(window#\\)",
  // Moonshot
  "exceeded model token limit: window# \\(requested: prompt#\\)",
  "exceeded model token limit: window#",
  // GitHub Copilot
  "prompt token count of prompt# exceeds the limit of window#",
  // OpenAI, vLLM, OpenRouter, DeepSeek, xAI. The prompt is in another sentence.
  "maximum (?:context|prompt|model) length (?:is|of) window#",
  "exceed the configured limit of window# tokens",
  "context length (?:is|of) only window# tokens",
].map(patternOf);

/** Where the wordings of OpenAI and the servers like it name the prompt. */
const PROMPTS: readonly RegExp[] = [
  "\\(prompt# in the messages, functions# in the functions",
  "\\(prompt# in the messages",
  "messages resulted in prompt# tokens",
  "about prompt# of text input",
  "\\(prompt# of text input",
  "you passed prompt# input tokens",
  "prompt contains prompt# input tokens",
  "request (?:has|contains) prompt# (?:input )?tokens",
  "prompt# tokens from the input messages",
].map(patternOf);

function patternOf(wording: string): RegExp {
  return new RegExp(wording.replace(/(\w+)#/g, "(?<$1>\\d[\\d,_]{0,14})"), "i");
}

/**
 * Reads the window and the size of the prompt from what a provider says of a prompt that is too long. Returns undefined for any other
 * text, for one that names no numbers, and for a prompt that fits.
 * @example
 * readRefusal("prompt is too long: 210000 tokens > 200000 maximum"); // { windowTokens: 200_000, promptTokens: 210_000 }
 */
export function readRefusal(text: string): PromptRefusal | undefined {
  for (const wording of WORDINGS) {
    const groups = wording.exec(text)?.groups;
    if (groups === undefined) continue;
    const excess = numberOf(groups.excess);
    if (excess !== undefined) return { excessTokens: excess };
    const window = numberOf(groups.window);
    const named = numberOf(groups.prompt);
    if (window === undefined || window === 0) continue;
    // A prompt that fits was refused for another reason.
    if (named !== undefined && groups.output === undefined && named <= window) continue;
    const prompt = named ?? promptIn(text);
    return { windowTokens: window, ...(prompt !== undefined && { promptTokens: prompt }) };
  }
  return undefined;
}

function promptIn(text: string): number | undefined {
  for (const wording of PROMPTS) {
    const groups = wording.exec(text)?.groups;
    const prompt = numberOf(groups?.prompt);
    if (prompt !== undefined) return prompt + (numberOf(groups?.functions) ?? 0);
  }
  return undefined;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text.replaceAll(/[,_]/g, ""));
}
