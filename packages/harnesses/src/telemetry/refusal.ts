import { LONGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import { fitName } from "../recordings/text.ts";
import { type EventOwner, eventEnvelope } from "./event-envelope.ts";

/** What a provider says of a prompt that does not fit. Tokens. */
export interface PromptRefusal {
  contextWindow: number;
  /** Of the refused prompt, where it is named. */
  promptTokens?: number;
}

/** A number as providers write it: `200000`, `200,000`. */
const N = String.raw`(\d[\d,_]{2,11})`;

/** The words of each provider, with the groups of the size and of the prompt. */
const WORDS: readonly { pattern: RegExp; window: number; prompt?: number }[] = [
  // Anthropic, also through Bedrock and Vertex.
  { pattern: new RegExp(`prompt is too long: ${N} tokens > ${N} maximum`, "i"), window: 2, prompt: 1 },
  { pattern: new RegExp(`exceed context limit: ${N} \\+ ${N} > ${N}`, "i"), window: 3, prompt: 1 },
  // OpenAI, Azure, OpenRouter, vLLM; Mistral has the number first, xAI says "prompt length".
  { pattern: new RegExp(`maximum (?:context|prompt) length is ${N}`, "i"), window: 1 },
  { pattern: new RegExp(`with ${N} maximum context length`, "i"), window: 1 },
  // Gemini.
  {
    pattern: new RegExp(
      `input token count \\(?${N}\\)? exceeds the maximum number of tokens allowed \\(?${N}`,
      "i",
    ),
    window: 2,
    prompt: 1,
  },
  // Moonshot.
  { pattern: new RegExp(`exceeded model token limit: ${N}`, "i"), window: 1 },
  // Copilot.
  { pattern: new RegExp(`prompt token count of ${N} exceeds the limit of ${N}`, "i"), window: 2, prompt: 1 },
  // llama.cpp and Ollama.
  { pattern: new RegExp(`exceeds the available context size \\(${N} tokens\\)`, "i"), window: 1 },
];

/** Errors longer than that carry the prompt. */
const LONGEST_ERROR = 4_096;

/** Reads the size of the window from an error of a provider; undefined if it names none. */
export function readRefusal(message: string): PromptRefusal | undefined {
  if (message.length > LONGEST_ERROR) return undefined;
  for (const { pattern, window, prompt } of WORDS) {
    const found = pattern.exec(message);
    if (found === null) continue;
    const contextWindow = numberOf(found[window]!);
    const promptTokens = prompt === undefined ? undefined : numberOf(found[prompt]!);
    // A prompt that fits was refused for another reason.
    if (
      contextWindow === 0 ||
      (prompt !== undefined && pattern === WORDS[0]!.pattern && promptTokens! <= contextWindow)
    )
      return undefined;
    return { contextWindow, ...(promptTokens !== undefined && { promptTokens }) };
  }
  return undefined;
}

const numberOf = (text: string) => Number(text.replace(/[,_]/g, ""));

/** The event of a refusal that telemetry reports. `at` in epoch ms. */
export function refusedPrompt(
  owner: EventOwner,
  id: string,
  at: number,
  model: string,
  { contextWindow, promptTokens }: PromptRefusal,
): PlimsollEventInput {
  return {
    ...eventEnvelope(owner, id, at),
    type: "prompt_refused",
    witness: "otlp",
    model: fitName(model, LONGEST.model),
    context_window: contextWindow,
    ...(promptTokens !== undefined && { prompt_tokens: promptTokens }),
  };
}
