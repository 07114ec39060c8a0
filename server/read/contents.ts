import type { ContentsQuery, HeldToolView, HeldWindowView, WindowContentsView } from "@plimsoll/protocol/api";
import type { TurnContents } from "@plimsoll/protocol/events";
import { familyOf, mcpServerOf } from "@plimsoll/protocol/pure";
import { Prisma } from "../db/client.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_WINDOWS = 5_000;
const MOST_OF_SESSION = 100;
const MOST_TOOLS = 100;

interface StoredContents {
  agent_id: string;
  agent: string;
  harness: string;
  at: Date;
  tokens: number;
  contents: string;
}

/** What the windows of a range hold, as their latest turns tell: by tool, and of one session window by window. */
export async function readContents(reader: FreshReader, query: ContentsQuery): Promise<WindowContentsView> {
  const { from, to } = spanOf(query);
  const rows = await readStored(reader, query);
  const stored = rows.slice(0, MOST_WINDOWS).map(({ contents, ...row }) => ({
    ...row,
    contents: JSON.parse(contents) as TurnContents,
  }));
  return {
    range: { from: iso(from), to: iso(to) },
    complete: rows.length <= MOST_WINDOWS,
    tools: toolsOf(stored),
    windows: query.session === undefined ? [] : stored.slice(0, MOST_OF_SESSION).map(windowView),
  };
}

/** The latest first: one more than is read if there are more. */
function readStored(reader: Reader, query: ContentsQuery): Promise<StoredContents[]> {
  const { from, to } = spanOf(query);
  const { projectId } = reader;
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const ofSession =
    query.session === undefined ? Prisma.empty : Prisma.sql`AND s.id = ${query.session}::uuid`;
  return reader.prisma.$queryRaw<StoredContents[]>`
    SELECT a.id::text AS agent_id, a.name AS agent, s.harness, c.at, c.tokens, c.contents
    FROM agent_contents c
    JOIN agents a ON a.project_id = ${projectId} AND a.id = c.agent_id
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL ${ofHarness} ${ofSession}
    WHERE c.project_id = ${projectId} AND c.at >= ${new Date(from)} AND c.at < ${new Date(to)}
    ORDER BY c.at DESC, c.agent_id LIMIT ${MOST_WINDOWS + 1}`;
}

type Contents = Omit<StoredContents, "contents"> & { contents: TurnContents };
type ToolSum = Omit<HeldToolView, "share" | "of_windows">;

/** Each tool, and each MCP server with all its tools. */
function toolsOf(stored: readonly Contents[]): HeldToolView[] {
  const wholes = new Map<string, { windows: number; tokens: number }>();
  const sums = new Map<string, ToolSum>();
  /** By harness and tool: what its calls add to. Thousands of windows have the same tools. */
  const sumsOf = new Map<string, readonly ToolSum[]>();
  for (const { harness: instance, tokens, contents } of stored) {
    const harness = familyOf(instance);
    const whole = wholes.get(harness) ?? { windows: 0, tokens: 0 };
    wholes.set(harness, whole);
    whole.windows += 1;
    whole.tokens += tokens;
    const inWindow = new Set<ToolSum>();
    for (const { tool, tokens: taken, count = 0 } of contents.parts) {
      if (tool === undefined) continue;
      const name = `${harness}\u0000${tool}`;
      const own = sumsOf.get(name) ?? toolSums(sums, harness, tool);
      sumsOf.set(name, own);
      for (const sum of own) {
        sum.tokens += taken;
        sum.calls += count;
        inWindow.add(sum);
      }
    }
    for (const sum of inWindow) sum.windows += 1;
  }
  return [...sums.values()]
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, MOST_TOOLS)
    .map((sum) => {
      const { windows, tokens } = wholes.get(sum.harness)!;
      return { ...sum, of_windows: windows, share: tokens === 0 ? 0 : sum.tokens / tokens };
    });
}

/** The sum of a tool, and that of its MCP server. */
function toolSums(sums: Map<string, ToolSum>, harness: string, tool: string): readonly ToolSum[] {
  const server = mcpServerOf(tool) ?? null;
  return (server === null ? [tool] : [tool, null]).map((name) => {
    const key = JSON.stringify([harness, server, name]);
    const sum = sums.get(key) ?? { harness, server, tool: name, windows: 0, calls: 0, tokens: 0 };
    sums.set(key, sum);
    return sum;
  });
}

function windowView({ agent_id, agent, at, tokens, contents: { parts, largest } }: Contents): HeldWindowView {
  const held = parts.reduce((sum, part) => sum + part.tokens, 0);
  return {
    ...{ agent_id, agent, at: at.toISOString(), context_tokens: tokens },
    rest_tokens: Math.max(0, tokens - held),
    parts: parts.map(({ kind, tool = null, tokens: taken, count = null }) => ({
      ...{ kind, tool, tokens: taken, count },
    })),
    largest: largest.map(({ kind, tool = null, tokens: taken, at: since }) => ({
      ...{ kind, tool, tokens: taken, at: iso(since) },
    })),
  };
}
