import { z } from "zod";
import {
  databaseUrl,
  file,
  folder,
  hostNames,
  integer,
  issuer,
  jmespath,
  LOG_LEVELS,
  listenAddress,
  names,
  networks,
  port,
  publicUrl,
  scopes,
  secret,
} from "./env-values.ts";
import { PlimsollError } from "./errors.ts";
import { identityFaults } from "./identity-settings.ts";
import { listeningFaults } from "./listening.ts";

/** Values that are never repeated. */
const SECRET: readonly string[] = [
  "DATABASE_URL",
  "PLIMSOLL_SECRET",
  "PLIMSOLL_ACCESS_TOKEN",
  "PLIMSOLL_OIDC_CLIENT_SECRET",
];
const flag = z.stringbool({ truthy: ["true"], falsy: ["false"], error: "true or false" }).default(false);

const schema = z.object({
  PORT: port(4180),
  PLIMSOLL_LISTEN: listenAddress.default("127.0.0.1"),
  PLIMSOLL_TLS_CERT: file.optional(),
  PLIMSOLL_TLS_KEY: file.optional(),
  PLIMSOLL_ACCESS_TOKEN: secret.optional(),
  PLIMSOLL_OIDC_ISSUER: issuer.optional(),
  PLIMSOLL_OIDC_CLIENT_ID: z.string().optional(),
  PLIMSOLL_OIDC_CLIENT_SECRET: z.string().optional(),
  PLIMSOLL_OIDC_ROLE: jmespath.optional(),
  PLIMSOLL_OIDC_GROUPS: names,
  PLIMSOLL_OIDC_STRICT: flag,
  PLIMSOLL_OIDC_SCOPES: scopes,
  PLIMSOLL_OIDC_ADMIN: z.email("an email address").toLowerCase().optional(),
  PLIMSOLL_OIDC_NAME: z.string().max(60, "at most 60 characters").optional(),
  PLIMSOLL_HOME: folder,
  PLIMSOLL_ALLOWED_HOSTS: hostNames.default([]),
  PLIMSOLL_TRUSTED_PROXIES: networks,
  PLIMSOLL_PUBLIC_URL: publicUrl.optional(),
  PLIMSOLL_WEBHOOK_ALLOW: networks,
  PLIMSOLL_SECRET: secret.optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `one of ${LOG_LEVELS.join(", ")}`).default("info"),
  NODE_ENV: z
    .enum(["development", "production", "test"], "development, production or test")
    .default("production"),
  PLIMSOLL_QUOTA_EVENTS_PER_SECOND: integer(0, 10_000_000, 20_000),
  PLIMSOLL_QUOTA_READS_PER_SECOND: integer(0, 1_000_000, 50),
  // The largest request must fit: 4 MiB, and 32 MiB decompressed, for a moment twice.
  PLIMSOLL_BODIES_MIB: integer(69, 65_536, 256),
  PLIMSOLL_PAGES: z.enum(["on", "off"], "on or off").default("on"),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_SIZE: integer(2, 200, 10),
  DATABASE_ALLOW_UNSAFE: flag,
});

export type Settings = z.infer<typeof schema>;
export const settingNames = Object.keys(schema.shape) as (keyof Settings)[];

/**
 * Reads every setting. An empty value counts as unset, so that `PORT= npm start` works.
 * @throws PlimsollError `setting_invalid`, naming each invalid setting and what is allowed. Never repeats the
 * value of one that contains a secret.
 */
export function readSettings(env: Record<string, string | undefined>): Settings {
  const given = Object.fromEntries(settingNames.filter((name) => env[name]).map((name) => [name, env[name]]));
  const parsed = schema.safeParse(given);
  const wrong = parsed.success
    ? [...identityFaults(parsed.data), ...listeningFaults(parsed.data)]
    : parsed.error.issues.map(({ path, message }) => {
        const name = String(path[0]);
        const got = SECRET.includes(name) ? "" : `, not ${JSON.stringify(env[name])}`;
        return `${name} must be ${message}${got}.`;
      });
  // Ignored, an address that somebody set would silently become another.
  if (env.HOST && !env.PLIMSOLL_LISTEN)
    wrong.push("HOST is no longer a setting. Use PLIMSOLL_LISTEN instead.");
  if (parsed.success && wrong.length === 0) return parsed.data;
  throw new PlimsollError("setting_invalid", [...new Set(wrong)].join("\n"), {
    hint: "Settings are environment variables. .env.example lists all of them with their defaults.",
  });
}
