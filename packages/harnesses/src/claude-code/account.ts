import { createHash } from "node:crypto";
import { textAt } from "../fields.ts";

/**
 * A hash of the account that Claude Code is logged in to, from its file `.claude.json`: the same on all machines, and nothing leads back
 * to the id, which is random. Undefined without an account.
 */
export function claudeAccount(config: unknown): string | undefined {
  const id = textAt(config, ["oauthAccount", "accountUuid"]);
  return id && createHash("sha256").update(`plimsoll account anthropic ${id}`).digest("hex").slice(0, 32);
}
