import { BlockList, isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isBlockedPort } from "@plimsoll/protocol/pure";
import { z } from "zod";
import { parseNetworks } from "./networks.ts";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const isRoot = () => process.getuid?.() === 0;

/** As root, PostgreSQL runs as an unprivileged user, who cannot enter a folder below /root. */
export const defaultHome = (root = isRoot()) => (root ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));

const absolute = (path: string) => resolve(path.replace(/^~(?=$|[/\\])/, homedir()));

export const folder = z
  .string()
  .transform(absolute)
  .default(() => defaultHome());

/** An address of this machine, or one for all of them. */
export const listenAddress = z
  .string()
  .transform((host) => host.replace(/^\[(.*)\]$/, "$1"))
  .refine(
    (host) => host === "localhost" || isIP(host) !== 0,
    "localhost or an IP address, such as 127.0.0.1, 192.0.2.7, 0.0.0.0 or ::, without a port, which PORT sets",
  );

export const port = (fallback: number) =>
  integer(0, 65_535, fallback).refine(
    (value) => !isBlockedPort(value),
    "a port that browsers connect to: they block this one, because another protocol uses it",
  );

export const file = z.string().transform(absolute);

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

/** Whatever it is, a key is derived from it, or a person types it. */
export const secret = z
  .string()
  .refine((value) => value.length >= 32, "at least 32 characters, such as those of: openssl rand -base64 32");

export const publicUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:\/\/[^/?#@]+\/?$/.test(value),
    "an address such as https://plimsoll.example.com, without a path",
  )
  .refine(
    (value) => !URL.canParse(value) || !isBlockedPort(Number(new URL(value).port)),
    "an address with a port that browsers connect to: they block this one, because another protocol uses it",
  )
  .transform((value) => new URL(value).origin);
