import type { Scope as ScopeName } from "@plimsoll/protocol";
import { CreatedKey, KeyView, SCOPES } from "@plimsoll/protocol";
import { z } from "zod";
import type { Client } from "./client.ts";
import { CliError } from "./errors.ts";
import { ago } from "./number-format.ts";
import type { Terminal } from "./terminal.ts";
import { fitColumns, painter, printable, printableJson } from "./terminal.ts";

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

export async function createKey(
  client: Client,
  terminal: Terminal,
  options: { name: string; scopes: ScopeName[]; quiet: boolean },
): Promise<void> {
  const key = await client.mutate("keys.create", { name: options.name, scopes: options.scopes }, CreatedKey);
  terminal.write(
    options.quiet
      ? `${key.secret}\n`
      : `${key.secret}\n\nStore this key now; it is not shown again. Name ${printable(key.name)}, scopes ${key.scopes.join(", ")}, id ${key.id}.\n`,
  );
}

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
      "There are no keys. Create one with: plimsoll key create --name my-harness --scope ingest\n",
    );
    return;
  }
  const paint = painter(terminal.color);
  const rows = keys.map((key) => [
    key.prefix,
    key.name,
    key.scopes.join(","),
    key.revoked_at !== null
      ? "revoked"
      : key.last_used_at === null
        ? "never used"
        : `used ${ago(options.now - Date.parse(key.last_used_at))}`,
    key.id,
  ]);
  const head = ["prefix", "name", "scopes", "state", "id"];
  const widths = head.map((title, at) =>
    Math.min(40, Math.max(title.length, ...rows.map((row) => row[at]!.length))),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, at) => fitColumns(cell, widths[at]!))
      .join("  ")
      .trimEnd();
  terminal.write(`${[paint("dim", line(head)), ...rows.map(line)].join("\n")}\n`);
}

export async function revokeKey(client: Client, terminal: Terminal, which: string): Promise<void> {
  const { keys } = await client.query("keys.list", undefined, Keys);
  const open = keys.filter((key) => key.revoked_at === null);
  const found = keys.filter((key) => key.id === which);
  // Also match a whole key pasted from a configuration; it starts with its prefix.
  const matches =
    found.length > 0 ? found : open.filter((key) => which.length >= 4 && sharesStart(key.prefix, which));
  if (matches.length === 0)
    throw new CliError(`No key has the id or prefix ${which}.`, {
      hint: "List all keys with: plimsoll key list",
    });
  if (matches.length > 1) {
    throw new CliError(`${which} matches several keys: ${matches.map((key) => key.prefix).join(", ")}.`, {
      hint: "Give a longer prefix or the id.",
    });
  }
  const key = await client.mutate("keys.revoke", { id: matches[0]!.id }, KeyView);
  terminal.write(
    `Revoked ${printable(key.name)} (${printable(key.prefix)}). The server now rejects this key.\n`,
  );
}

function sharesStart(prefix: string, given: string): boolean {
  return prefix.startsWith(given) || given.startsWith(prefix);
}
