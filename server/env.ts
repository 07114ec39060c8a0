import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { PlimsollError } from "./errors.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const isRoot = () => process.getuid?.() === 0;

/** As root, PostgreSQL runs as an unprivileged user, who cannot enter a folder below /root. */
export const defaultHome = (root = isRoot()) => (root ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));

const isLoopback = (host: string) =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/, `a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `a whole number from ${min} to ${max}`)
    .default(fallback);

const databaseUrl = z
  .string()
  .refine(
    (v) => /^postgres(ql)?:\/\//.test(v) && URL.canParse(v),
    "postgresql://user:password@host:5432/name",
  );

const schema = z.object({
  PORT: integer(0, 65_535, 4180),
  HOST: z
    .string()
    .refine(
      isLoopback,
      "a loopback address (127.0.0.1, ::1 or localhost), because there are no user accounts yet",
    )
    .default("127.0.0.1"),
  PLIMSOLL_HOME: z
    .string()
    .transform((path) => resolve(path.replace(/^~(?=$|[/\\])/, homedir())))
    .default(() => defaultHome()),
  PLIMSOLL_ALLOWED_HOSTS: z
    .string()
    .transform((list) => list.split(",").map((name) => name.trim().toLowerCase()))
    .refine((names) => names.every((n) => /^[a-z0-9.[\]:-]+$/.test(n)), "host names separated by commas")
    .default([]),
  LOG_LEVEL: z.enum(LOG_LEVELS, `one of ${LOG_LEVELS.join(", ")}`).default("info"),
  NODE_ENV: z
    .enum(["development", "production", "test"], "development, production or test")
    .default("production"),
  PLIMSOLL_QUOTA_EVENTS_PER_SECOND: integer(0, 10_000_000, 0),
  // The largest request must fit: 4 MiB, and 32 MiB decompressed, for a moment twice.
  PLIMSOLL_BODIES_MIB: integer(69, 65_536, 256),
  PLIMSOLL_PAGES: z.enum(["on", "off"], "on or off").default("on"),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_SIZE: integer(2, 200, 10),
  DATABASE_ALLOW_UNSAFE: z
    .stringbool({ truthy: ["true"], falsy: ["false"], error: "true or false" })
    .default(false),
});

export type Settings = z.infer<typeof schema>;
export const settingNames = Object.keys(schema.shape) as (keyof Settings)[];

/**
 * Reads every setting. An empty value counts as unset, so that `PORT= npm start` works.
 * @throws PlimsollError `setting_invalid`, naming each invalid setting and what is allowed. Never repeats the
 * value of DATABASE_URL, which contains a password.
 */
export function readSettings(env: Record<string, string | undefined>): Settings {
  const given = Object.fromEntries(settingNames.filter((name) => env[name]).map((name) => [name, env[name]]));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    const got = name === "DATABASE_URL" ? "" : `, not ${JSON.stringify(env[name])}`;
    return `${name} must be ${message}${got}.`;
  });
  throw new PlimsollError("setting_invalid", [...new Set(wrong)].join("\n"), {
    hint: "Settings are environment variables. .env.example lists all of them with their defaults.",
  });
}
