import { readFile } from "node:fs/promises";
import { type CompiledMapping, compileMapping, readMapping } from "@plimsoll/protocol/mapping";
import { CliError } from "../errors.ts";
import { printable } from "../terminal.ts";

const WITHOUT: Readonly<Record<"file" | "otlp", string>> = {
  file: 'It has no match.file, so it reads no files. Name two fields there, such as [{"path": "$.a"}, {"path": "$.b"}].',
  otlp: "It has no match.otlp, so it reads no OpenTelemetry data. Use it with npx plimsoll import --map.",
};

/**
 * Reads a mapping for files or for OpenTelemetry data.
 * @throws CliError if the file cannot be read, or names each of its mistakes
 */
export async function readMappingFile(path: string, use: "file" | "otlp"): Promise<CompiledMapping> {
  const text = await readFile(path, "utf8").catch((cause: Error) => {
    throw new CliError(`${path} cannot be read: ${cause.message}`, { cause });
  });
  const read = readMapping(parsed(path, text));
  if (!read.ok) {
    throw new CliError(`${path} is no mapping.`, {
      hint: read.mistakes.map((mistake) => `  ${printable(mistake)}`).join("\n"),
    });
  }
  if (read.mapping.match[use] === undefined)
    throw new CliError(`${path} cannot be used here.`, { hint: WITHOUT[use] });
  return compileMapping(read.mapping);
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (cause) {
    throw new CliError(`${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
