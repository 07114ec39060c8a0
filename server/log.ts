import { format } from "node:util";
import pino, { type DestinationStream, type Logger } from "pino";
import { KEY_PATTERN } from "./key-format.ts";

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

/**
 * What a terminal would obey, or show in another place than it stands: control characters beside line feeds and tabs,
 * line separators, and marks that change the direction of text. JSON escapes only some of them.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Escapes what a text from outside could do to a terminal, such as `\u001b`. Line feeds and tabs stay. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The process' logger: JSON lines on standard output unless another destination is given. */
export function createLogger(options: { level: string }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, censor: "[redacted]" },
    hooks: { streamWrite: (line: string) => printable(withoutSecrets(line)) },
  };
  return destination ? pino(settings, destination) : pino(settings);
}

const CONSOLE = {
  debug: "debug",
  log: "info",
  info: "info",
  warn: "warn",
  error: "error",
  trace: "debug",
} as const;

/** Sends what libraries write to the console to the log: as raw lines, parts of a request could pass for lines of ours. */
export function logConsole(log: Logger): void {
  for (const [method, level] of Object.entries(CONSOLE) as [keyof typeof CONSOLE, "info"][]) {
    console[method] = (...parts: unknown[]) => log[level](format(...parts));
  }
}
