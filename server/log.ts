import pino, { type DestinationStream, type Logger } from "pino";
import { KEY_PATTERN } from "./access/key-format.ts";

/** Names of fields whose value is a secret, at the top of a log line and one or two levels down. */
const SECRET_FIELDS = ["authorization", "cookie", "token", "secret", "password", "key"];
const SECRET_PATHS = [
  ...["", "*.", "*.*."].flatMap((depth) => SECRET_FIELDS.map((name) => `${depth}${name}`)),
  '*["set-cookie"]',
  '*.*["set-cookie"]',
];

const URL_PASSWORD = /(postgres(?:ql)?:\/\/[^:@/\s"]*:)[^@\s"]+@/g;
const BEARER = /(bearer )[^\s"\\,]+/gi;

/**
 * Removes what must not be read from a text: keys, bearer tokens, passwords in database URLs. The fields
 * are covered by name already; this catches secrets inside messages and stack traces.
 */
export function withoutSecrets(text: string): string {
  return text
    .replace(KEY_PATTERN, "plim_[redacted]")
    .replace(BEARER, "$1[redacted]")
    .replace(URL_PASSWORD, "$1[redacted]@");
}

/** The process' logger: JSON lines on standard output unless another destination is given. */
export function createLogger(options: { level: string }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, censor: "[redacted]" },
    hooks: { streamWrite: withoutSecrets },
  };
  return destination ? pino(settings, destination) : pino(settings);
}
