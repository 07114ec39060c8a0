import type { HeldToolView, HeldWindowView, WindowContentsView } from "@plimsoll/protocol/api";
import { type HeldKind, mcpServerOf } from "@plimsoll/protocol/pure";
import { exact, percent, plural } from "./format.ts";

const KINDS: Record<HeldKind, string> = {
  system: "instructions",
  tool_definition: "tool definitions",
  deferred_tool: "deferred tools, without definitions",
  summary: "summary of what was compacted",
  user: "prompts and notices",
  attachment: "attachments",
  assistant: "answers",
  thinking: "thinking since the latest prompt",
  tool: "tools",
};

type Held = Pick<HeldWindowView["parts"][number], "kind" | "tool">;

/** `search (github)` for a tool of an MCP server. */
export function toolName(tool: string): string {
  const server = mcpServerOf(tool);
  return server === undefined ? tool : `${tool.slice(`mcp__${server}__`.length)} (${server})`;
}

/** What a thing in a window is, in words. */
export function heldName({ kind, tool }: Held): string {
  if (tool === null) return kind === "tool" ? "tool calls" : KINDS[kind];
  return kind === "tool_definition" ? `definition of ${toolName(tool)}` : toolName(tool);
}

/** A row of what fills a window. */
export interface HeldRow {
  name: string;
  tokens: number;
  /** Of the tokens in the window. */
  share: number;
  /** Undefined where nothing is counted. */
  count: number | undefined;
}

/** Rows that are shown of a window, the sum of the others included. */
const MOST_ROWS = 10;

/** What fills a window, the tools of an MCP server together: the largest first, and last what is in no part. */
export function heldRows({ parts, rest_tokens: rest, context_tokens: whole }: HeldWindowView): HeldRow[] {
  const rows = new Map<string, Omit<HeldRow, "share">>();
  for (const part of parts) {
    const server = part.tool === null ? undefined : mcpServerOf(part.tool);
    const name = server === undefined ? heldName(part) : `MCP server ${server}`;
    const known = rows.get(name) ?? { name, tokens: 0, count: undefined };
    const count = part.count === null ? known.count : (known.count ?? 0) + part.count;
    rows.set(name, { name, tokens: known.tokens + part.tokens, count });
  }
  const inOrder = [...rows.values()].sort((a, b) => b.tokens - a.tokens);
  const shown = inOrder.length > MOST_ROWS ? inOrder.slice(0, MOST_ROWS - 1) : inOrder;
  const others = inOrder.slice(shown.length);
  if (others.length > 0) {
    const tokens = others.reduce((sum, row) => sum + row.tokens, 0);
    shown.push({ name: `${others.length} others`, tokens, count: undefined });
  }
  if (rest > 0) shown.push({ name: "not reported", tokens: rest, count: undefined });
  return shown.map((row) => ({ ...row, share: whole === 0 ? 0 : row.tokens / whole }));
}

/** An MCP server or a tool of a harness, and the tools of the server. */
export interface ToolRow {
  of: HeldToolView;
  tools: HeldToolView[];
}

const MOST_TOOL_ROWS = 12;
const MOST_OF_SERVER = 5;

/** MCP servers and tools by what they take, the largest first. */
export function toolRows(tools: readonly HeldToolView[]): ToolRow[] {
  return tools
    .filter(isWhole)
    .slice(0, MOST_TOOL_ROWS)
    .map((of) => ({
      of,
      tools:
        of.server === null
          ? []
          : tools
              .filter(
                ({ server, tool, harness }) =>
                  server === of.server && tool !== null && harness === of.harness,
              )
              .slice(0, MOST_OF_SERVER),
    }));
}

/** Whether a row is a tool of a harness or a whole server. */
const isWhole = ({ server, tool }: HeldToolView) => server === null || tool === null;

const SHORT = { harnesses: 2, tools: 3 };

/** The tools that take most of the windows of each kind of harness, and how many were never called, in one line. */
export function toolsInShort(tools: readonly HeldToolView[]): string {
  const whole = tools.filter(isWhole);
  const harnesses = [...new Set(whole.map(({ harness }) => harness))];
  const parts = harnesses.slice(0, SHORT.harnesses).map((of) => {
    const largest = whole.filter(({ harness }) => harness === of).slice(0, SHORT.tools);
    const shares = largest.map(({ server, tool, share }) => `${server ?? tool} ${percent(share)}`).join(", ");
    return harnesses.length === 1 ? shares : `${shares} of ${of}`;
  });
  const unused = whole.filter(({ never_called }) => never_called).length;
  const never = unused === 0 ? [] : [`${exact(unused)} loaded and never called in 30 days`];
  return `Tools in windows: ${[...parts, ...never].join(" · ")}`;
}

/** How often a tool was called in 30 days. */
export function recentCallsText({ recent_calls: calls, never_called: never }: HeldToolView): string {
  if (calls === null) return "not told";
  if (calls > 0) return exact(calls);
  return never ? "never" : "none told";
}

/** Who tells which tools were called, where that is not every agent. */
export function callersText({ tools, callers }: WindowContentsView): string[] {
  const shown = new Set(tools.map(({ harness }) => harness));
  return callers
    .filter(({ harness, agents, telling }) => shown.has(harness) && telling < agents)
    .map(({ harness, agents, telling }) =>
      telling === 0
        ? `No agent of ${harness} names the tools that it calls.`
        : `Of ${plural(agents, "agent")} of ${harness} in 30 days, ${exact(telling)} ${telling === 1 ? "names the tools that it calls" : "name the tools that they call"}.`,
    );
}
