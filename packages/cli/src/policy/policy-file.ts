import { readFile } from "node:fs/promises";
import { orderedPolicy, type PolicyBody, readPolicy, yamlExcess } from "@plimsoll/protocol/policy";
import { Lexer, parseDocument, stringify } from "yaml";
import { CliError, messageOf } from "../errors.ts";
import { printable } from "../terminal.ts";

/** Most YAML aliases: nested aliases can expand without end. */
const ALIASES = 20;

/**
 * Reads a policy from a YAML or JSON file.
 * @param path a file, or `-` for standard input
 * @returns the policy and its text
 * @throws CliError with every mistake, its line and the fix
 */
export async function readPolicyFile(path: string): Promise<{ body: PolicyBody; text: string }> {
  const text = await readText(path);
  const name = path === "-" ? "standard input" : path;
  const excess = yamlExcess(new Lexer().lex(text));
  if (excess !== undefined) throw new CliError(`${name} cannot be read. ${excess}`);
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken !== undefined)
    throw new CliError(`${name} is not valid YAML: ${printable(broken.message)}`, { cause: broken });
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES }) ?? {};
  } catch (error) {
    throw new CliError(`${name} cannot be read: ${printable(messageOf(error))}`, { cause: error });
  }
  const read = readPolicy(value);
  if (read.ok) return { body: read.body, text };
  const mistakes = read.mistakes.map(({ path: field, message }) => `  ${field || "policy"}: ${message}`);
  throw new CliError(
    `${name} has ${mistakes.length === 1 ? "a mistake" : "mistakes"}:\n${printableLines(mistakes)}`,
  );
}

const printableLines = (lines: readonly string[]) => lines.map(printable).join("\n");

async function readText(path: string): Promise<string> {
  try {
    if (path !== "-") return await readFile(path, "utf8");
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    throw new CliError(`Cannot read ${path}: ${messageOf(error)}`, {
      hint: "Give a YAML or JSON file, or - for standard input.",
      cause: error,
    });
  }
}

/** A policy as YAML. */
export function policyYaml(body: PolicyBody): string {
  const value = orderedPolicy(body);
  return Object.keys(value).length === 0 ? "# No settings\n" : stringify(value, { lineWidth: 0 });
}
