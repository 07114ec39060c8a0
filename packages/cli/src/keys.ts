import {
  CreatedKey,
  type Grace,
  KeyView,
  keyState,
  RotatedKey,
  SCOPES,
  type Scope as ScopeName,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import type { Client } from "./client.ts";
import { CliError } from "./errors.ts";
import { ago, ahead } from "./number-format.ts";
import { writeTable } from "./table.ts";
import { printable, printableJson, type Terminal } from "./terminal.ts";

const Keys = z.object({ keys: z.array(KeyView) });

export function parseScopes(text: string): ScopeName[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !(SCOPES as readonly string[]).includes(name));
  if (wrong !== undefined) {
    throw new CliError(`${JSON.stringify(wrong)} is not a scope.`, {
      hint: `Use one or more of: ${SCOPES.join(", ")}.`,
    });
  }
  return [...new Set(names)] as ScopeName[];
}

/**
 * When a key expires, from `never`, a number of days such as `90d`, or a date such as `2027-03-03`.
 * @param now epoch milliseconds
 * @returns an RFC 3339 time; undefined for never
 */
export function parseExpiry(text: string, now: number): string | undefined {
  if (text === "never") return undefined;
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(now + Number(days) * 86_400_000).toISOString();
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new CliError(`${JSON.stringify(text)} is not an expiry.`, {
      hint: "Use never, a number of days such as 90d, or a date such as 2027-03-03 (from 00:00 UTC).",
    });
  }
  return new Date(at).toISOString();
}

export async function createKey(
  client: Client,
  terminal: Terminal,
  options: {
    name: string;
    scopes: ScopeName[];
    harness: string | undefined;
    expiresAt: string | undefined;
    quiet: boolean;
  },
): Promise<void> {
  const { name, scopes, harness, expiresAt } = options;
  const input = { name, scopes, harness, expires_at: expiresAt };
  const key = await client.mutate("keys.create", input, CreatedKey);
  // An older server ignores the expiry.
  if (expiresAt !== undefined && key.expires_at === null) {
    await client.mutate("keys.revoke", { id: key.id }, KeyView);
    throw new CliError("This server cannot make a key that expires. No key was created.", {
      hint: "Upgrade the server, or leave out --expires.",
    });
  }
  writeSecret(terminal, key, options.quiet);
}

/** Shows a key for the only time. */
function writeSecret(terminal: Terminal, key: CreatedKey, quiet: boolean): void {
  const expiry = key.expires_at === null ? "" : `, expires ${day(key.expires_at)}`;
  terminal.write(
    quiet
      ? `${key.secret}\n`
      : `${key.secret}\n\nStore this key now; it is not shown again. Name ${printable(key.name)}, scopes ${key.scopes.join(", ")}${expiry}, id ${key.id}.\n`,
  );
}

const day = (at: string) => at.slice(0, 10);

export async function listKeys(
  client: Client,
  terminal: Terminal,
  options: { json: boolean; now: number },
): Promise<void> {
  const { keys } = await client.query("keys.list", undefined, Keys);
  if (options.json) {
    terminal.write(`${printableJson({ keys })}\n`);
    return;
  }
  if (keys.length === 0) {
    terminal.write(
      "There are no keys. Create one with: npx plimsoll key create --name my-harness --scope ingest\n",
    );
    return;
  }
  const rows = keys.map((key) => ({
    cells: [
      key.prefix,
      key.name,
      `${key.scopes.join(",")}${key.harness === null ? "" : ` of ${key.harness}`}`,
      stateOf(key, keys, options.now),
      expiryOf(key, options.now),
      key.id,
    ],
    warn: keyState(key, options.now) === "expiring",
  }));
  writeTable(terminal, ["prefix", "name", "scopes", "state", "expires", "id"], rows);
}

function stateOf(key: KeyView, keys: readonly KeyView[], now: number): string {
  const state = keyState(key, now);
  if (state === "revoked" || state === "expired") return state;
  if (state === "replaced") {
    const successor = keys.find(({ id }) => id === key.replaced_by);
    return successor === undefined ? "replaced" : `replaced by ${successor.prefix}`;
  }
  return key.last_used_at === null ? "never used" : `used ${ago(now - Date.parse(key.last_used_at))}`;
}

function expiryOf({ expires_at, revoked_at }: KeyView, now: number): string {
  if (revoked_at !== null) return "";
  if (expires_at === null) return "never";
  const left = Date.parse(expires_at) - now;
  return left > 0 ? ahead(left) : ago(-left);
}

export async function rotateKey(
  client: Client,
  terminal: Terminal,
  options: { which: string; grace: Grace; now: number; quiet: boolean },
): Promise<void> {
  const { id } = await findKey(client, options.which);
  const { key, replaced } = await client.mutate("keys.rotate", { id, grace: options.grace }, RotatedKey);
  writeSecret(terminal, key, options.quiet);
  if (options.quiet) return;
  const left = Date.parse(replaced.expires_at ?? "") - options.now;
  const prefix = printable(replaced.prefix);
  terminal.write(
    left > 0
      ? `The old key ${prefix} works until ${replaced.expires_at}.\n`
      : `The server now rejects the old key ${prefix}.\n`,
  );
}

export async function revokeKey(client: Client, terminal: Terminal, which: string): Promise<void> {
  const { id } = await findKey(client, which);
  const key = await client.mutate("keys.revoke", { id }, KeyView);
  terminal.write(
    `Revoked ${printable(key.name)} (${printable(key.prefix)}). The server now rejects this key.\n`,
  );
}

/** The key with this id or, among those that are not revoked, with this prefix. */
async function findKey(client: Client, which: string): Promise<KeyView> {
  const { keys } = await client.query("keys.list", undefined, Keys);
  const open = keys.filter((key) => key.revoked_at === null);
  const found = keys.filter((key) => key.id === which);
  // Also match a whole key pasted from a configuration; it starts with its prefix.
  const matches =
    found.length > 0 ? found : open.filter((key) => which.length >= 4 && sharesStart(key.prefix, which));
  if (matches.length === 0)
    throw new CliError(`No key has the id or prefix ${which}.`, {
      hint: "List all keys with: npx plimsoll key list",
    });
  if (matches.length > 1) {
    throw new CliError(`${which} matches several keys: ${matches.map((key) => key.prefix).join(", ")}.`, {
      hint: "Give a longer prefix or the id.",
    });
  }
  return matches[0]!;
}

function sharesStart(prefix: string, given: string): boolean {
  return prefix.startsWith(given) || given.startsWith(prefix);
}
