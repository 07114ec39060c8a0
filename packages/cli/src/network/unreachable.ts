import { CliError, messageOf } from "../errors.ts";
import { ProxyError } from "./proxy.ts";

/** Why there was no answer. */
export type ConnectionFailure =
  | "refused"
  | "no_such_host"
  | "lookup_failed"
  | "no_route"
  | "timeout"
  | "cut"
  | "untrusted_certificate"
  | "certificate_of_another_name"
  | "certificate_out_of_date"
  | "not_tls"
  | "tls"
  | "not_http"
  | "proxy_away"
  | "proxy_login"
  | "proxy_refused"
  | "other";

/** Whether another attempt may succeed. `if_offline`: only if this machine is what has no network. */
export type RetryWorth = "yes" | "if_offline" | "no";

interface FailureFacts {
  words: string;
  retry: RetryWorth;
  hint: string;
}

const RUNNING =
  "Is it running? Start it with npx plimsoll up, or set another URL with --url or PLIMSOLL_URL.";
const NETWORK = "Check the network of this machine, and the URL in --url or PLIMSOLL_URL.";

const FACTS: Record<ConnectionFailure, FailureFacts> = {
  refused: { words: "connection refused", retry: "yes", hint: RUNNING },
  no_such_host: { words: "no such host", retry: "if_offline", hint: NETWORK },
  lookup_failed: { words: "the name server did not answer", retry: "yes", hint: NETWORK },
  no_route: { words: "no route to the host", retry: "yes", hint: NETWORK },
  timeout: {
    words: "no answer in time",
    retry: "yes",
    hint: "The server may be busy, or a firewall drops the connection. Behind a proxy, set HTTPS_PROXY.",
  },
  cut: { words: "the connection was cut", retry: "yes", hint: RUNNING },
  untrusted_certificate: {
    words: "this machine does not trust the certificate",
    retry: "no",
    hint: "Set NODE_EXTRA_CA_CERTS to a file with the certificate of the authority that signed it.",
  },
  certificate_of_another_name: {
    words: "the certificate is for another name",
    retry: "no",
    hint: "Use the name in the certificate as URL. NODE_EXTRA_CA_CERTS does not help here.",
  },
  certificate_out_of_date: {
    words: "the certificate is not valid at this time",
    retry: "no",
    hint: "Renew the certificate on the server. If it is new, set the clock of this machine.",
  },
  not_tls: {
    words: "the server answered without TLS",
    retry: "no",
    hint: "Use a URL that begins with http://, or the port on which the server speaks TLS.",
  },
  tls: { words: "TLS failed", retry: "no", hint: "Check what answers at this URL with: openssl s_client" },
  not_http: {
    words: "the answer is not HTTP",
    retry: "no",
    hint: "Another program listens there, or the server speaks TLS: use a URL that begins with https://.",
  },
  proxy_away: {
    words: "the proxy cannot be reached",
    retry: "yes",
    hint: "HTTPS_PROXY names the proxy. Add the host to NO_PROXY to connect without it.",
  },
  proxy_login: {
    words: "the proxy wants a login",
    retry: "no",
    hint: "Put it into HTTPS_PROXY: http://user:password@proxy.example:3128.",
  },
  proxy_refused: {
    words: "the proxy refused",
    retry: "no",
    hint: "HTTPS_PROXY names the proxy. Add the host to NO_PROXY to connect without it.",
  },
  other: { words: "", retry: "yes", hint: RUNNING },
};

const BY_CODE: Record<string, ConnectionFailure> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "no_such_host",
  EAI_AGAIN: "lookup_failed",
  EHOSTUNREACH: "no_route",
  ENETUNREACH: "no_route",
  ENETDOWN: "no_route",
  EADDRNOTAVAIL: "no_route",
  ETIMEDOUT: "timeout",
  ECONNRESET: "cut",
  ECONNABORTED: "cut",
  EPIPE: "cut",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "untrusted_certificate",
  UNABLE_TO_GET_ISSUER_CERT: "untrusted_certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "untrusted_certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "untrusted_certificate",
  DEPTH_ZERO_SELF_SIGNED_CERT: "untrusted_certificate",
  CERT_UNTRUSTED: "untrusted_certificate",
  CERT_REJECTED: "untrusted_certificate",
  CERT_REVOKED: "untrusted_certificate",
  INVALID_CA: "untrusted_certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate_of_another_name",
  HOSTNAME_MISMATCH: "certificate_of_another_name",
  CERT_HAS_EXPIRED: "certificate_out_of_date",
  CERT_NOT_YET_VALID: "certificate_out_of_date",
  ERR_SSL_WRONG_VERSION_NUMBER: "not_tls",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "not_tls",
  ERR_SSL_UNKNOWN_PROTOCOL: "not_tls",
};

interface Cause {
  failure: ConnectionFailure;
  /** Such as `ECONNREFUSED`; empty if there is none. */
  code: string;
}

/** Finds the reason in the cause chain: the message of a library, such as "fetch failed", says nothing. */
function causeOf(error: unknown): Cause {
  let at: unknown = error;
  for (let depth = 0; depth < 6 && at instanceof Error; depth += 1) {
    if (at instanceof ProxyError) return ofProxy(at);
    const code = String((at as { code?: unknown }).code ?? "");
    const known = byCode(code, at.message);
    if (known !== undefined) return { failure: known, code };
    if (at.name === "TimeoutError") return { failure: "timeout", code: "" };
    at = at instanceof AggregateError && at.errors.length > 0 ? at.errors[0] : at.cause;
  }
  return { failure: "other", code: "" };
}

function byCode(code: string, message: string): ConnectionFailure | undefined {
  if (BY_CODE[code] !== undefined) return BY_CODE[code];
  if (code.startsWith("HPE_")) return "not_http";
  // Node 20 has one code for all that OpenSSL says.
  if (code === "EPROTO")
    return /wrong version number|packet length too long/.test(message) ? "not_tls" : "tls";
  return /^ERR_(?:SSL|TLS)_/.test(code) ? "tls" : undefined;
}

function ofProxy({ proxy, status, cause }: ProxyError): Cause {
  if (status === undefined) return { failure: "proxy_away", code: `${proxy}, ${causeOf(cause).code}` };
  const code = `${proxy}, HTTP ${status}`;
  if (status === 407) return { failure: "proxy_login", code };
  return { failure: status >= 500 || status === 429 ? "proxy_away" : "proxy_refused", code };
}

/** Whether to try again after an error of a connection. */
export const retryWorth = (error: unknown): RetryWorth => FACTS[causeOf(error).failure].retry;

/** The error of a command whose server gave no answer, with the reason and what to do. */
export function unreachable({ url }: { url: string }, error: unknown): CliError {
  const { failure, code } = causeOf(error);
  const { words, hint } = FACTS[failure];
  const reason = [words, code].filter((part) => part !== "").join(", ") || messageOf(error);
  return new CliError(`Cannot reach Plimsoll at ${url} (${reason}).`, { hint, cause: error });
}
