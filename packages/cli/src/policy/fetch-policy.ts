import { createHash } from "node:crypto";
import { ErrorBody, PolicyAnswer } from "@plimsoll/protocol/api";
import { canonicalJson } from "@plimsoll/protocol/policy";
import { unreachable } from "../client.ts";
import { accessHint, type Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { request } from "../request.ts";

const TIMEOUT_MS = 30_000;

/** The agents that a policy is asked for. */
export interface PolicyReader {
  /** The harness instance, such as `claude-code@host-1`. */
  harness: string;
  model?: string | undefined;
}

/** A failure that a later attempt may mend. `waitMs` is what the server asks for. */
export class PolicyUnavailable extends CliError {
  readonly waitMs: number | undefined;

  constructor(message: string, options: { hint?: string; cause?: unknown; waitMs?: number | undefined }) {
    super(message, options);
    this.waitMs = options.waitMs;
  }
}

/**
 * Reads the policy that a harness should run.
 * @param known the hash of the policy that the caller has
 * @returns undefined if it is the known one
 * @throws {PolicyUnavailable} if the server is away, overloaded or answers nonsense: the caller keeps what it has
 * @throws {CliError} if the key is not accepted
 */
export async function fetchPolicy(
  connection: Connection,
  { harness, model }: PolicyReader,
  known?: string,
  signal?: AbortSignal,
): Promise<PolicyAnswer | undefined> {
  const query = new URLSearchParams({ harness, ...(model !== undefined && { model }) });
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await request(connection, `/api/v1/policy?${query}`, {
      headers: {
        accept: "application/json",
        ...(known !== undefined && { "if-none-match": `"${known}"` }),
      },
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    text = await response.text();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { message, hint } = unreachable(connection, error);
    throw new PolicyUnavailable(message, { ...(hint !== undefined && { hint }), cause: error });
  }
  if (response.status === 304 && known !== undefined) return undefined;
  if (response.status === 200) return readAnswer(text, connection);
  throw refusal(response, text, connection);
}

function readAnswer(text: string, { url }: Connection): PolicyAnswer {
  const answer = PolicyAnswer.safeParse(parsed(text));
  if (!answer.success)
    throw new PolicyUnavailable(`${url} returned a policy that this version does not understand.`, {
      hint: "The server and the command line may have different versions.",
      cause: answer.error,
    });
  const { settings, hash } = answer.data;
  const own = createHash("sha256").update(canonicalJson(settings)).digest("hex");
  if (own !== hash)
    throw new PolicyUnavailable(`${url} returned a policy whose hash does not match its content.`, {
      hint: "A proxy may have changed the answer.",
    });
  return answer.data;
}

function refusal(response: Response, text: string, connection: Connection): CliError {
  const { status } = response;
  const body = ErrorBody.safeParse(parsed(text));
  const said = body.success ? ` ${body.data.error.message}` : "";
  const message = `${connection.url} did not give the policy: HTTP ${status}.${said}`;
  if (status === 401 || status === 403)
    return new CliError(message, { hint: accessHint(connection, status) });
  const seconds = Number(response.headers.get("retry-after"));
  return new PolicyUnavailable(message, { waitMs: seconds > 0 ? seconds * 1_000 : undefined });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
