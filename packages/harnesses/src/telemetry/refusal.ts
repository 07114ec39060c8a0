import { type PromptRefusal, readRefusal } from "@plimsoll/fold";
import { LONGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import { fitName } from "../recordings/text.ts";
import { type EventOwner, eventEnvelope } from "./event-envelope.ts";

/** Errors longer than that carry the prompt. */
const LONGEST_ERROR = 4_096;

/** A refusal that names the size of the window. */
export type SizedRefusal = PromptRefusal & { windowTokens: number };

/** Reads the size of the window from an error of a provider; undefined if it names none. */
export function refusalIn(message: string | undefined): SizedRefusal | undefined {
  if (message === undefined || message.length > LONGEST_ERROR) return undefined;
  const refusal = readRefusal(message);
  return refusal?.windowTokens === undefined ? undefined : { ...refusal, windowTokens: refusal.windowTokens };
}

/** The fields of the event beside those that all events share. */
export function refusedPrompt(model: string, { windowTokens, promptTokens }: SizedRefusal) {
  return {
    type: "prompt_refused" as const,
    model: fitName(model, LONGEST.model),
    context_window: windowTokens,
    ...(promptTokens !== undefined && { prompt_tokens: promptTokens }),
  };
}

/** The event of a refusal that telemetry reports. `at` in epoch ms. */
export function reportedRefusal(
  owner: EventOwner,
  id: string,
  at: number,
  model: string,
  refusal: SizedRefusal,
): PlimsollEventInput {
  return { ...eventEnvelope(owner, id, at), witness: "otlp", ...refusedPrompt(model, refusal) };
}
