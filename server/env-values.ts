import { BlockList, isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { parseNetworks } from "./networks.ts";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const isRoot = () => process.getuid?.() === 0;

/** As root, PostgreSQL runs as an unprivileged user, who cannot enter a folder below /root. */
export const defaultHome = (root = isRoot()) => (root ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));

export const folder = z
  .string()
  .transform((path) => resolve(path.replace(/^~(?=$|[/\\])/, homedir())))
  .default(() => defaultHome());

const isLoopback = (host: string) =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

export const loopbackHost = z
  .string()
  .refine(
    isLoopback,
    "a loopback address (127.0.0.1, ::1 or localhost), because there are no user accounts yet",
  );

export const hostNames = z
  .string()
  .transform((list) => list.split(",").map((name) => name.trim().toLowerCase()))
  .refine((names) => names.every((name) => /^[a-z0-9.[\]:-]+$/.test(name)), "host names separated by commas");

/** None by default. */
export const networks = z
  .string()
  .transform((list, context) => {
    const parsed = parseNetworks(list);
    if (parsed !== undefined) return parsed;
    context.addIssue("addresses, networks such as 10.0.0.0/8, or loopback, separated by commas");
    return z.NEVER;
  })
  .default(() => new BlockList());

export const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/, `a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `a whole number from ${min} to ${max}`)
    .default(fallback);

export const databaseUrl = z
  .string()
  .refine(
    (value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value),
    "postgresql://user:password@host:5432/name",
  );

/** Whatever it is, a key is derived from it. */
export const secret = z
  .string()
  .refine((value) => value.length >= 32, "at least 32 characters, such as those of: openssl rand -base64 32");

export const publicUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:\/\//.test(value),
    "an address such as https://plimsoll.example.com",
  )
  .transform((value) => value.replace(/\/+$/, ""));
