/** What a server answered instead of doing what it was asked. */
export interface ServerRefusal {
  status: number;
  /** The beginning of the answer's body. */
  text: string;
}

const MOST_REFUSAL_CHARACTERS = 10_000;

/** Reads a refusal, as far as it needs to be shown. Never throws. */
export async function refusalOf(response: Response): Promise<ServerRefusal> {
  const text = await textOf(response, MOST_REFUSAL_CHARACTERS).catch(() => "");
  return { status: response.status, text: text.slice(0, MOST_REFUSAL_CHARACTERS) };
}

const MOST_SHOWN_CHARACTERS = 300;

/** A refusal in one line, without a full stop: the server's own message if it sent one, else the beginning of its answer. */
export function refusalText({ status, text }: ServerRefusal): string {
  const shown = messageIn(text)?.replace(/\.$/, "") ?? text;
  return shown === "" ? `HTTP ${status}` : `HTTP ${status}: ${shown.slice(0, MOST_SHOWN_CHARACTERS)}`;
}

/** The message of an error as Plimsoll sends it; undefined if the answer is another one, such as that of a proxy. */
function messageIn(text: string): string | undefined {
  try {
    const message = (JSON.parse(text) as { error?: { message?: unknown } } | null)?.error?.message;
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** How many events an answer rejects, and the server's reason for the first of them. */
export function rejectionsIn(answer: unknown): { count: number; reason: string } {
  const { rejected } = (answer ?? {}) as { rejected?: unknown };
  if (!Array.isArray(rejected)) return { count: 0, reason: "" };
  const { path, message } = (rejected[0] ?? {}) as { path?: unknown; message?: unknown };
  const texts = [path, message].filter((text): text is string => typeof text === "string" && text !== "");
  return { count: rejected.length, reason: texts.join(": ").slice(0, MOST_SHOWN_CHARACTERS) };
}

/** The body of an answer. A longer one than `most` characters is not read to its end. */
export async function textOf(response: Response, most: number): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (reader !== undefined && text.length <= most) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader?.cancel();
  return text;
}

/** The newest generation of the project's policy that an answer names. */
export function generationIn(headers: Headers): number | undefined {
  const text = headers.get("plimsoll-policy-generation") ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * Parses a Retry-After header of seconds or an HTTP date. Returns ms from `now`, or `undefined` without a valid
 * header.
 */
export function retryAfter({ headers }: Response, now: number): number | undefined {
  const header = headers.get("retry-after")?.trim();
  if (header === undefined || header === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
