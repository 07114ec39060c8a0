import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from "openid-client";
import { PlimsollError } from "../../errors.ts";
import { printable } from "../../log.ts";

/** Error codes of an identity provider with which it asks to come back. */
const LATER = ["temporarily_unavailable", "server_error", "slow_down"];
/** Codes of openid-client for an answer that is no JSON, such as the page of a proxy. */
const NOT_JSON = ["OAUTH_RESPONSE_IS_NOT_JSON", "OAUTH_PARSE_ERROR"];

export const awayError = (issuer: string, reason: string) =>
  new PlimsollError(
    "overloaded",
    `The identity provider ${issuer} cannot be reached: ${reason}. Try again in a moment.`,
    { details: { retry_after_seconds: 5 } },
  );

/** The error to answer with if the identity provider did not answer, or not as one. Another try may succeed. */
export function awayFault(error: unknown, issuer: string): PlimsollError | undefined {
  if (error instanceof PlimsollError) return error.code === "overloaded" ? error : undefined;
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError)
    return LATER.includes(error.error) ? awayError(issuer, said(error)) : undefined;
  if (!(error instanceof Error)) return;
  if (NOT_JSON.includes((error as { code?: string }).code ?? "")) return awayError(issuer, reasonOf(error));
  return awayFault(error.cause, issuer);
}

/** The error for a failed sign-in. Says neither tokens nor codes: those are in the causes of openid-client's errors. */
export function signInFault(error: unknown, issuer: string): PlimsollError {
  const away = awayFault(error, issuer);
  if (away !== undefined) return away;
  if (error instanceof PlimsollError) return error;
  if (error instanceof AuthorizationResponseError) {
    return new PlimsollError(
      "unauthenticated",
      `The identity provider ${issuer} refused the sign-in: ${said(error)}. Sign in again, or ask its administrator whether your account may use Plimsoll.`,
    );
  }
  const isRefused = error instanceof ResponseBodyError && error.error !== "invalid_grant";
  if (isRefused || error instanceof WWWAuthenticateChallengeError) {
    const reason = isRefused ? said(error) : reasonOf(error);
    return new PlimsollError(
      "setting_invalid",
      `The identity provider ${issuer} refused this server: ${reason}. Check PLIMSOLL_OIDC_CLIENT_ID, PLIMSOLL_OIDC_CLIENT_SECRET, and the client's redirect URI.`,
    );
  }
  const reason = error instanceof ResponseBodyError ? said(error) : reasonOf(error);
  const clock = /timestamp|"exp"|"iat"|"nbf"/.test(reason) ? " Compare the clocks of both servers." : "";
  return new PlimsollError(
    "unauthenticated",
    `The answer of the identity provider ${issuer} is not valid: ${reason}. Sign in again.${clock}`,
  );
}

/** What to say about an error of openid-client. Its message is fixed text; only its causes hold tokens. */
export function reasonOf(error: unknown): string {
  if (error instanceof WWWAuthenticateChallengeError) return `status ${error.status}`;
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The error code and description of a provider; the text comes from outside. */
const said = ({
  error,
  error_description: description = "",
}: {
  error: string;
  error_description?: string;
}) =>
  printable(description === "" ? error : `${error}, ${description}`)
    .replace(/\s+/g, " ")
    .slice(0, 300);
