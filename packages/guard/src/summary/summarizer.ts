import type { SummaryRequest } from "../fit.ts";
import { clip } from "../view/placeholder.ts";
import type { Shape } from "../view/shape.ts";
import { SUMMARY_PARTS, summaryInstructions, transcriptOf } from "./prompt.ts";

/** What a model is asked. */
export interface TextRequest {
  system: string;
  prompt: string;
  /** Longest answer, in tokens. */
  maxTokens: number;
  signal: AbortSignal;
}

/** Asks a model for a text. May throw; the guard then writes a short summary without a model. */
export type TextModel = (request: TextRequest) => Promise<string>;

/** Longest conversation that a summariser reads, in characters: about 50,000 tokens. */
const MOST_INPUT_CHARS = 200_000;
/** An answer of so few characters a token is possible in every language. */
const CHARS_PER_TOKEN = 2;

/** Makes a summariser of a model: with the guard's prompt, a bounded input and a limit to the answer. */
export function modelSummarizer<M>(
  shape: Shape<M>,
  model: TextModel,
): (request: SummaryRequest<M>) => Promise<string> {
  return async ({ messages, maxChars, signal }) => {
    const answer = await model({
      system: summaryInstructions(maxChars),
      prompt: `<conversation>\n${transcriptOf(messages, shape, MOST_INPUT_CHARS)}\n</conversation>`,
      maxTokens: Math.ceil(maxChars / CHARS_PER_TOKEN),
      signal,
    });
    return clip(summaryText(answer), maxChars);
  };
}

/** Reads a model's answer. One that is not the JSON that was asked for is taken as it is. */
export function summaryText(answer: string): string {
  const parts = parsed(answer);
  if (parts === undefined) return answer.trim();
  const lines: string[] = [];
  for (const name of Object.keys(SUMMARY_PARTS)) {
    const value = parts[name];
    const texts = (Array.isArray(value) ? value : [value]).filter(isText);
    if (texts.length === 0) continue;
    const title = `${name[0]!.toUpperCase()}${name.slice(1)}:`;
    if (Array.isArray(value)) lines.push(title, ...texts.map((text) => `- ${text.trim()}`));
    else lines.push(`${title} ${texts[0]!.trim()}`);
  }
  return lines.length === 0 ? answer.trim() : lines.join("\n");
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

/** The JSON object in a text, which models like to fence or to introduce. */
function parsed(answer: string): Record<string, unknown> | undefined {
  const from = answer.indexOf("{");
  const to = answer.lastIndexOf("}");
  if (from < 0 || to < from) return undefined;
  try {
    return JSON.parse(answer.slice(from, to + 1)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
