import { AUDIT_ACTIONS, AUDIT_TOPICS, type AuditEntryView, AuditPage } from "@plimsoll/protocol/api";
import { type Command, Option } from "commander";
import { createClient } from "./client.ts";
import { type CommandContext, wholeNumber, withServer } from "./command-context.ts";
import { type ConnectionFlags, connect } from "./connection.ts";
import { writeTable } from "./table.ts";
import { printableJson } from "./terminal.ts";

/** Entries that the server gives in one answer. */
const PAGE = 200;

type AuditFlags = ConnectionFlags & { json?: boolean; action?: string; topic?: string; limit: number };

export function addAuditCommand(program: Command, context: CommandContext): void {
  withServer(program.command("audit"))
    .description("Show who changed keys, settings and projects, newest first")
    .option("--json", "print JSON")
    .addOption(new Option("--action <action>", "show only this action").choices(AUDIT_ACTIONS))
    .addOption(
      new Option("--topic <topic>", "show only actions about this").choices(Object.keys(AUDIT_TOPICS)),
    )
    .option("-n, --limit <count>", "number of entries", wholeNumber, 50)
    .addHelpText(
      "after",
      `
Times are in UTC. Failed logins are counted for each client and hour.

Examples:
  npx plimsoll audit --topic keys
  npx plimsoll audit --action login_failed
  npx plimsoll audit --json --limit 1000 | jq '.entries[] | select(.actor.kind == "key")'`,
    )
    .action(async ({ json, action, topic, limit, ...flags }: AuditFlags) => {
      const client = createClient(await connect(flags, context.env));
      const entries: AuditEntryView[] = [];
      let cursor: string | undefined;
      do {
        const input = { action, topic, cursor, limit: Math.min(PAGE, limit - entries.length) };
        const page = await client.query("audit.list", input, AuditPage);
        entries.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined && entries.length < limit);
      if (json) context.out.write(`${printableJson({ entries })}\n`);
      else if (entries.length === 0) context.out.write("There are no entries.\n");
      else writeTable(context.out, ["time", "action", "what", "by", "project"], entries.map(rowOf));
    });
}

function rowOf({ at, action, count, target, detail, actor, project, project_id }: AuditEntryView) {
  return {
    cells: [
      at.slice(0, 19).replace("T", " "),
      count > 1 ? `${action} ×${count}` : action,
      target ?? detail ?? "",
      actorText(actor),
      project ?? (project_id === null ? "" : `${project_id} (deleted)`),
    ],
  };
}

function actorText({ kind, id, name, address }: AuditEntryView["actor"]): string {
  switch (kind) {
    case "person":
    case "browser":
      return [name ?? "unknown browser", address].filter(Boolean).join(", ");
    case "key":
      return `key ${name ?? id}`;
    case "local":
      return "command line";
    case "visitor":
      return address ?? "other clients";
    default:
      return kind;
  }
}
