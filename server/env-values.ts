import { BlockList, isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { compile, isRegistered } from "@jmespath-community/jmespath";
import { isBlockedPort } from "@plimsoll/protocol/pure";
import { z } from "zod";
import { isLoopbackAddress, parseNetworks } from "./networks.ts";

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

/** Whether a URL leads to this machine. */
export const isLoopbackUrl = (url: URL) =>
  url.hostname === "localhost" || isLoopbackAddress(url.hostname.replace(/^\[(.*)\]$/, "$1"));

/** Kept as it is: an identity provider compares it letter by letter. */
export const issuer = z.string().refine((value) => {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackUrl(url));
  return isSafe && url.username === "" && !/[?#]/.test(value);
}, "an https:// address such as https://login.example.com/realms/staff, or http:// on this machine, without a query");

export const jmespath = z.string().superRefine((value, context) => {
  const fault = faultOf(value);
  if (fault !== undefined) context.addIssue(`a JMESPath expression (${fault})`);
});

function faultOf(expression: string): string | undefined {
  const unknown: string[] = [];
  try {
    JSON.stringify(compile(expression), (_, node) => {
      if (node?.type === "Function" && !isRegistered(node.name)) unknown.push(node.name);
      return node;
    });
  } catch (error) {
    return (error as Error).message;
  }
  return unknown.length === 0 ? undefined : `no function ${unknown.join(", ")}`;
}

/** Names separated by commas. */
export const names = z
  .string()
  .transform((list) => list.split(",").map((name) => name.trim()))
  .refine((list) => list.every((name) => name !== ""), "names separated by commas")
  .default([]);

export const scopes = z
  .string()
  .refine(
    (value) =>
      /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(value) &&
      value.split(" ").includes("openid"),
    "names separated by spaces, among them openid",
  )
  .default("openid email profile");
