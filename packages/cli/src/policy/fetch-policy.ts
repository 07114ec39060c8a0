import { ErrorBody, PolicyAnswer } from "@plimsoll/protocol/api";
import {
  type Fetched,
  fetchPolicy as fetchFrom,
  type PolicyReader,
  type ServerAccess,
} from "../../../guard/src/policy-source/fetch-policy.ts";
import { readAnswer } from "../../../guard/src/policy-source/read-answer.ts";
import { accessHint, type Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { unreachable } from "../network/unreachable.ts";
import { request } from "../request.ts";

const TIMEOUT_MS = 30_000;

/** How the guard's code reaches the server of a connection. */
export function accessTo(connection: Connection): ServerAccess {
  return {
    url: connection.url,
    timeoutMs: TIMEOUT_MS,
    clock: Date.now,
    fetch: (url, init) => request(connection, url.slice(connection.url.length), init),
  };
}

/**
 * Reads the policy that a harness should run, once.
 * @throws {CliError} if the server is away, refuses the key or answers nonsense
 */
export async function fetchPolicy(connection: Connection, subject: PolicyReader): Promise<PolicyAnswer> {
  const never = new AbortController().signal;
  return policyIn(await fetchFrom(accessTo(connection), subject, undefined, never), connection);
}

/**
 * The policy in an answer.
 * @throws {CliError} if there is none: the caller keeps what it has
 */
export async function policyIn(fetched: Fetched, connection: Connection): Promise<PolicyAnswer> {
  if (fetched.kind === "unreachable")
    throw fetched.error instanceof CliError ? fetched.error : unreachable(connection, fetched.error);
  if ("refusal" in fetched) throw refusal(fetched, connection);
  const answer = await readAnswer(fetched.kind === "answer" ? fetched.text : "");
  if (answer.kind === "wrong_hash")
    throw new CliError(`${connection.url} returned a policy whose hash does not match its content.`, {
      hint: "A proxy may have changed the answer.",
    });
  const known = answer.kind === "policy" ? PolicyAnswer.safeParse(answer.policy) : undefined;
  if (known?.success) return known.data;
  throw new CliError(`${connection.url} returned a policy that this version does not understand.`, {
    hint: "The server and the command line may have different versions.",
    cause: known?.error ?? answer,
  });
}

function refusal(
  { kind, refusal: { status, text } }: Extract<Fetched, { kind: "refused" | "later" }>,
  connection: Connection,
): CliError {
  const body = ErrorBody.safeParse(parsed(text));
  const said = body.success ? ` ${body.data.error.message}` : "";
  return new CliError(
    `${connection.url} did not give the policy: HTTP ${status}.${said}`,
    kind === "refused" ? { hint: accessHint(connection, status === 401 ? 401 : 403) } : {},
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
