import { DeletionView, MOST_DELETED, SessionPage } from "@plimsoll/protocol/api";
import type { Command } from "commander";
import { type Client, createClient } from "./client.ts";
import { type CommandContext, withConnection } from "./command-context.ts";
import { type ConnectionFlags, connect } from "./connection.ts";
import { CliError } from "./errors.ts";
import { ago, number, plural } from "./number-format.ts";
import { writeTable } from "./table.ts";
import { printable } from "./terminal.ts";

interface DeleteFlags extends ConnectionFlags {
  harness?: string;
  demo?: boolean;
  yes?: boolean;
}

/** A procedure that deletes, and its input without `dry_run`. */
interface Target {
  path: string;
  input: Record<string, unknown>;
  /** What is deleted, for messages. */
  name: string;
}

/** A session as the confirmation lists it. */
type FoundSession = Pick<
  SessionPage["items"][number],
  "id" | "session" | "title" | "harness" | "turns" | "last_at"
>;

/** Rows that the confirmation lists. */
const LISTED = 20;
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i;
/** Characters of a search. */
const LONGEST_SEARCH = 200;
const ALL_TIME = { from: new Date(0).toISOString(), to: "9998-01-01T00:00:00.000Z" };

export function addDeleteCommand(program: Command, context: CommandContext): void {
  withConnection(program.command("delete"))
    .description("Delete sessions, a harness with all of its sessions, or the demo")
    .argument("[session...]", "ids, names or links of sessions")
    .option("--harness <instance>", "delete a harness instance with all of its sessions")
    .option("--demo", "delete everything that the demo fleet recorded")
    .option("-y, --yes", "do not ask for confirmation")
    .addHelpText(
      "after",
      `
Lists what it deletes and asks first. Needs a key with the scope admin, or the server's machine. For ten seconds after,
\`POST /api/v1/sessions/undelete\` and the notice on a page bring it back. If a harness is still running, its next event
creates the session again.

Examples:
  npx plimsoll delete 0f8f2a1c-5d7e-8c4b-9a31-2f6d8e7b9c10
  npx plimsoll delete slack:1732 --yes
  npx plimsoll delete --harness claude-code@old-laptop
  npx plimsoll delete --demo`,
    )
    .action(async (sessions: string[], flags: DeleteFlags) => {
      requireOneTarget(sessions, flags);
      const client = createClient(await connect(flags, context.env));
      const targets =
        sessions.length > 0
          ? await targetsOf(client, sessions, context)
          : [flags.demo ? DEMO : harnessTarget(flags.harness!)];
      const found = await run(client, targets, true);
      if (found.sessions + found.harnesses === 0) {
        context.out.write(`There is nothing to delete: ${printable(targets[0]!.name)} has no data.\n`);
        return;
      }
      context.out.write(`To delete: ${amountOf(found)}.\n`);
      if (!flags.yes) await confirm(context);
      const deleted = await run(client, targets, false);
      context.out.write(`Deleted ${amountOf(deleted)}.\n`);
    });
}

const DEMO: Target = { path: "demo.delete", input: {}, name: "the demo" };

const harnessTarget = (harness: string): Target => ({
  path: "harness.delete",
  input: { instances: [harness] },
  name: harness,
});

function requireOneTarget(sessions: readonly string[], { harness, demo }: DeleteFlags): void {
  const targets = [sessions.length > 0, harness !== undefined, demo === true].filter(Boolean).length;
  if (targets === 1) return;
  throw new CliError(
    targets === 0 ? "Nothing is named to delete." : "Name sessions, --harness or --demo, and no two of them.",
    { hint: "See: npx plimsoll delete --help" },
  );
}

async function targetsOf(
  client: Client,
  names: readonly string[],
  context: CommandContext,
): Promise<Target[]> {
  const found = new Map<string, FoundSession>();
  for (const name of names) {
    const session = await findSession(client, name);
    found.set(session.id, session);
  }
  listSessions([...found.values()], context);
  const ids = [...found.keys()];
  const targets: Target[] = [];
  for (let from = 0; from < ids.length; from += MOST_DELETED) {
    const part = ids.slice(from, from + MOST_DELETED);
    targets.push({ path: "sessions.delete", input: { ids: part }, name: plural(part.length, "session") });
  }
  return targets;
}

/** @throws CliError if no session, or more than one, has the name */
async function findSession(client: Client, name: string): Promise<FoundSession> {
  // A harness may name its sessions with UUIDs too.
  const id = UUID.exec(name)?.[0].toLowerCase();
  const q = (id ?? name).slice(0, LONGEST_SEARCH);
  const { items } = await client.query("sessions.list", { ...ALL_TIME, q, limit: 500 }, SessionPage);
  const [session, ...others] = items.filter((item) => item.id === id || item.session === name);
  if (session === undefined) {
    throw new CliError(`There is no session ${printable(name)}.`, {
      hint: "Copy its id or link from the Sessions page.",
    });
  }
  if (others.length === 0) return session;
  const ids = [session, ...others].map((one) => `${one.id} (${printable(one.harness)})`).join(", ");
  throw new CliError(`${others.length + 1} sessions are named ${printable(name)}.`, {
    hint: `Give the id of the one you mean: ${ids}`,
  });
}

function listSessions(sessions: readonly FoundSession[], { out, now }: CommandContext): void {
  const rows = sessions.slice(0, LISTED).map(({ id, session, title, harness, turns, last_at }) => ({
    cells: [id, title ?? session, harness, number(turns), ago(now() - Date.parse(last_at))],
  }));
  writeTable(out, ["id", "session", "harness", "turns", "last event"], rows);
  if (sessions.length > LISTED) out.write(`and ${number(sessions.length - LISTED)} more\n`);
}

async function run(client: Client, targets: readonly Target[], dryRun: boolean): Promise<DeletionView> {
  const sum = { harnesses: 0, sessions: 0, turns: 0, undo_until: null };
  for (const { path, input } of targets) {
    const { harnesses, sessions, turns } = await client.mutate(
      path,
      { ...input, dry_run: dryRun },
      DeletionView,
    );
    sum.harnesses += harnesses;
    sum.sessions += sessions;
    sum.turns += turns;
  }
  return sum;
}

function amountOf({ harnesses, sessions, turns }: DeletionView): string {
  const of = harnesses === 0 ? "" : `${plural(harnesses, "harness", "harnesses")} with `;
  return `${of}${plural(sessions, "session")} and ${plural(turns, "turn")}`;
}

async function confirm({ ask }: CommandContext): Promise<void> {
  if (ask === undefined) {
    throw new CliError("Deleting needs a confirmation, and there is no terminal to ask for it.", {
      hint: "To delete without a question: --yes",
    });
  }
  const answer = await ask("Delete it? [y/N] ");
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Nothing was deleted.");
}
