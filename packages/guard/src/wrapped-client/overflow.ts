import { type PromptRefusal, readRefusal } from "@plimsoll/fold";

const RATE_LIMITED = 429;
/** Of each text of an error. */
const MOST_CHARS = 4_000;

/** Reads the window and the size of the prompt from the error of a call that was too long; undefined for any other error. */
export function overflowOf(error: unknown): PromptRefusal | undefined {
  const { status, statusCode, status_code } = (error ?? {}) as Record<string, unknown>;
  if ([status, statusCode, status_code].includes(RATE_LIMITED)) return undefined;
  for (const text of textsOf(error)) {
    const refusal = readRefusal(text);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Errors inside of errors that are read. */
const MOST_CAUSES = 3;

/** The message of an error, its body as the clients of the providers keep it, and the same of its cause. */
function textsOf(error: unknown, causes = MOST_CAUSES): string[] {
  if (typeof error === "string") return [error.slice(0, MOST_CHARS)];
  if (typeof error !== "object" || error === null || causes === 0) return [];
  const { message, error: body, responseBody, cause } = error as Record<string, unknown>;
  const texts = [message, responseBody, jsonOf(body)].filter((one) => typeof one === "string");
  return [...texts.map((text) => text.slice(0, MOST_CHARS)), ...textsOf(cause, causes - 1)];
}

function jsonOf(body: unknown): string | undefined {
  try {
    return typeof body === "object" ? JSON.stringify(body) : undefined;
  } catch {
    // The message has to do.
    return undefined;
  }
}
