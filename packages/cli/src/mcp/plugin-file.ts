import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOOLS } from "@plimsoll/harnesses/agent-tools";
import { z } from "zod";
import { PROGRAM } from "../bridge/hook-file.ts";
import type { PluginSettings } from "../opencode-plugin.ts";

/** The text of the plugin for opencode, which starts this program. */
export function opencodePlugin(): string {
  const [node, ...words] = PROGRAM as [string, string];
  const settings: PluginSettings = {
    command: [node, ...words, "mcp"],
    tools: Object.fromEntries(
      Object.entries(TOOLS).map(([name, { description, inputSchema }]) => {
        const { $schema: _, ...schema } = z.toJSONSchema(inputSchema, { io: "input" });
        return [name, { description, schema }];
      }),
    ),
  };
  const note = "// Written by `plimsoll mcp --plugin opencode`, which writes a new one after an upgrade.";
  const file = readFileSync(join(import.meta.dirname, "opencode-plugin.js"), "utf8");
  return `${note}\nconst PLIMSOLL = ${JSON.stringify(settings)};\n${file}`;
}
