import { type ProjectView as Project, ProjectList, ProjectView } from "@plimsoll/protocol/api";
import type { Command } from "commander";
import { z } from "zod";
import { type Client, createClient } from "./client.ts";
import { type CommandContext, withServer } from "./command-context.ts";
import { type ConnectionFlags, connect } from "./connection.ts";
import { CliError } from "./errors.ts";
import { writeTable } from "./table.ts";
import { printable, printableJson, type Terminal } from "./terminal.ts";

export function addProjectCommands(program: Command, context: CommandContext): void {
  const project = program.command("project").description("Create, list, rename, archive and delete projects");
  const open = async (flags: ConnectionFlags) => createClient(await connect(flags, context.env));

  withServer(project.command("list"))
    .description("List projects")
    .option("--json", "print JSON")
    .action(async (flags: ConnectionFlags & { json?: boolean }) => {
      const { projects } = await (await open(flags)).query("projects.list", {}, ProjectList);
      if (flags.json) context.out.write(`${printableJson({ projects })}\n`);
      else writeProjects(projects, context.out);
    });

  withServer(project.command("create"))
    .description("Create a project")
    .argument("<name>", "name; not only digits")
    .action(async (name: string, flags: ConnectionFlags) => {
      const made = await (await open(flags)).mutate("projects.create", { name }, ProjectView);
      context.out.write(
        `Created ${printable(made.name)} with the id ${made.id}. Make a key for it: npx plimsoll key create --project ${made.id} --scope ingest\n`,
      );
    });

  withServer(project.command("rename"))
    .description("Rename a project; its links and keys stay valid")
    .argument("<name|id>", "name or id")
    .argument("<new-name>", "new name")
    .action(async (which: string, name: string, flags: ConnectionFlags) => {
      const client = await open(flags);
      const { id } = await find(client, which);
      const renamed = await client.mutate("projects.rename", { id, name }, ProjectView);
      context.out.write(`Project ${id} is now ${printable(renamed.name)}.\n`);
    });

  for (const [command, description, said] of [
    ["archive", "Make a project refuse new events; it can still be read", "refuses new events"],
    ["unarchive", "Let an archived project take events again", "takes events again"],
  ] as const) {
    withServer(project.command(command))
      .description(description)
      .argument("<name|id>", "name or id")
      .action(async (which: string, flags: ConnectionFlags) => {
        const client = await open(flags);
        const { id } = await find(client, which);
        const { name } = await client.mutate(`projects.${command}`, { id }, ProjectView);
        context.out.write(`${printable(name)} ${said}.\n`);
      });
  }

  withServer(project.command("delete"))
    .description("Delete a project with all of its data and keys")
    .argument("<name|id>", "name or id")
    .requiredOption("--confirm <name>", "repeat the name of the project")
    .action(async (which: string, flags: ConnectionFlags & { confirm: string }) => {
      const client = await open(flags);
      const { id, name } = await find(client, which);
      if (flags.confirm !== name) {
        throw new CliError(`The name given with --confirm is not the name of project ${id}.`, {
          hint: `To delete it with all of its data: --confirm ${JSON.stringify(name)}`,
        });
      }
      await client.mutate("projects.delete", { id, name }, z.object({ deleting: z.literal(true) }));
      context.out.write(`Deleted ${printable(name)}. Its keys are refused from now on.\n`);
    });
}

async function find(client: Client, which: string): Promise<Project> {
  const { projects } = await client.query("projects.list", {}, ProjectList);
  const found = projects.find(({ id, name }) => name === which || String(id) === which);
  if (found) return found;
  throw new CliError(`There is no project ${which}.`, { hint: "npx plimsoll project list" });
}

function writeProjects(projects: readonly Project[], terminal: Terminal): void {
  const rows = projects.map(({ id, name, is_default, archived_at }) => ({
    cells: [
      String(id),
      name,
      [is_default && "default", archived_at !== null && "archived"].filter(Boolean).join(", "),
    ],
  }));
  writeTable(terminal, ["id", "name", "state"], rows);
}
