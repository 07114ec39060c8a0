import { createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import { CliError, messageOf } from "../errors.ts";
import { printable, printableJson, type Terminal } from "../terminal.ts";
import { type ContextFigures, contextLines, contextSegment, readContext } from "./context.ts";
import { Health, type Health as HealthData, healthLine, peersLine } from "./health.ts";

const TIMEOUT_MS = 5_000;

type Half<T> = { ok: true; value: T } | { ok: false; error: CliError };

export interface PhantomStatusOptions {
  /** URL of `/health`. */
  healthUrl: string;
  json: boolean;
  now: number;
  warn: (line: string) => void;
}

/** The URL of `/health`: `-u` in full or completed from a host name, else the port on localhost. */
export function healthUrl(flags: { url?: string | undefined; port?: string | undefined }): string {
  if (flags.url === undefined) {
    const port = Number(flags.port ?? "3100");
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new CliError(`${flags.port} is not a port number.`, { hint: "Use a number from 1 to 65535." });
    }
    return `http://localhost:${port}/health`;
  }
  const text = /^https?:\/\//.test(flags.url) ? flags.url : `http://${flags.url}`;
  if (!URL.canParse(text)) throw new CliError(`${JSON.stringify(flags.url)} is not a URL.`);
  const url = new URL(text);
  if (url.pathname === "/") url.pathname = "/health";
  return url.href;
}

/**
 * Prints Phantom's status line with the context segment, then the four figures. If Phantom or Plimsoll is down, prints
 * the other half.
 * @throws CliError if both are down
 */
export async function runPhantomStatus(
  connection: Connection,
  terminal: Terminal,
  options: PhantomStatusOptions,
): Promise<void> {
  const health = await half(() => readHealth(options.healthUrl));
  const context = await half(() =>
    readContext(createClient(connection), health.ok ? health.value.parsed.agent : undefined, options.now),
  );
  if (!health.ok && !context.ok) {
    options.warn(context.error.message);
    throw health.error;
  }
  if (!health.ok) options.warn(health.error.message);
  if (!context.ok && options.json) options.warn(context.error.message);
  if (options.json) {
    const body = { ...(health.ok ? health.value.raw : {}), context: context.ok ? context.value : null };
    terminal.write(`${printableJson(body)}\n`);
  } else {
    terminal.write(`${lines(health, context).join("\n")}\n`);
  }
}

function lines(health: Half<{ parsed: HealthData }>, context: Half<ContextFigures>): string[] {
  const segment = context.ok
    ? contextSegment(context.value)
    : `context: not available (${context.error.message.replace(/\.$/, "")})`;
  const own = health.ok
    ? [`${healthLine(health.value.parsed)} | ${segment}`, peersLine(health.value.parsed)]
    : [segment];
  return [
    ...own.filter((line) => line !== undefined).map(printable),
    ...(context.ok ? contextLines(context.value) : []),
  ];
}

async function readHealth(url: string): Promise<{ raw: Record<string, unknown>; parsed: HealthData }> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    throw new CliError(`Cannot reach Phantom at ${url}`, {
      hint: "Is it running? Start with: phantom start",
      cause: error,
    });
  }
  if (!response.ok) throw new CliError(`Phantom returned HTTP ${response.status}`);
  const raw: unknown = await response.json().catch(() => undefined);
  const parsed = Health.safeParse(raw);
  if (!parsed.success) throw new CliError(`${url} did not answer like Phantom's /health`);
  return { raw: raw as Record<string, unknown>, parsed: parsed.data };
}

async function half<T>(read: () => Promise<T>): Promise<Half<T>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    return { ok: false, error: error instanceof CliError ? error : new CliError(messageOf(error)) };
  }
}
