import type { ContentsQuery, HeldToolView, HeldWindowView, WindowContentsView } from "@plimsoll/protocol/api";
import type { TurnContents } from "@plimsoll/protocol/events";
import { familyOf, mcpServerOf } from "@plimsoll/protocol/pure";
import { Prisma } from "../db/client.ts";
import { unpackCalled } from "../db/tables/called-tools.ts";
import { toolMark } from "../db/tables/identity.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { DAY_MS, iso, spanOf } from "../times.ts";

const MOST_WINDOWS = 5_000;
const MOST_OF_SESSION = 100;
const MOST_TOOLS = 100;
/** Days of calls that a tool is looked for in. */
const RECENT_DAYS = 30;
const MOST_CALLERS = 20_000;

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
  // The windows of a session say nothing of what other sessions call.
  const [rows, callers] = await Promise.all([
    readStored(reader, query),
    query.session === undefined ? readCallers(reader, query) : new Map<string, Callers>(),
  ]);
  const stored = rows.slice(0, MOST_WINDOWS).map(({ contents, ...row }) => ({
    ...row,
    contents: JSON.parse(contents) as TurnContents,
  }));
  return {
    range: { from: iso(from), to: iso(to) },
    complete: rows.length <= MOST_WINDOWS,
    tools: toolsOf(stored, callers),
    callers: [...callers].map(([harness, { agents, telling }]) => ({ harness, agents, telling })),
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

/** The agents of a kind of harness, and what those called that name their tools. */
interface Callers {
  agents: number;
  telling: number;
  /** By `toolMark`. */
  calls: Map<number, { calls: number; failed: number }>;
}

/**
 * By kind of harness, what its agents called in the days before a time. A recording names the calls of its agent whole, so it counts before
 * the ends of calls, which no id joins with it.
 */
async function readCallers(reader: Reader, query: ContentsQuery): Promise<Map<string, Callers>> {
  const { projectId } = reader;
  const { to } = spanOf(query);
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const since = to - RECENT_DAYS * DAY_MS;
  const rows = await reader.prisma.$queryRaw<{ harness: string; called: Uint8Array | null }[]>`
    SELECT s.harness, COALESCE(NULLIF(c.called, ''::bytea), o.called) AS called FROM agents a
    JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id AND s.deleted_at IS NULL ${ofHarness}
    LEFT JOIN agent_contents c ON c.project_id = ${projectId} AND c.agent_id = a.id
    LEFT JOIN agent_outcomes o ON o.project_id = ${projectId} AND o.agent = a.number
    WHERE a.project_id = ${projectId} AND (a.turns > 0 OR o.called <> ''::bytea)
      AND a.last_at >= ${new Date(since)} AND a.first_at < ${new Date(to)}
    ORDER BY a.last_at DESC, a.number LIMIT ${MOST_CALLERS + 1}`;
  const found = new Map<string, Callers>();
  for (const { harness, called } of rows) {
    const family = familyOf(harness);
    const callers = found.get(family) ?? { agents: 0, telling: 0, calls: new Map() };
    found.set(family, callers);
    callers.agents += 1;
    const own = called === null ? undefined : unpackCalled(called);
    if (own === undefined) continue;
    callers.telling += 1;
    for (const { tool, day, calls, failed } of own) {
      if (day + DAY_MS <= since || day >= to) continue;
      const sum = callers.calls.get(tool) ?? { calls: 0, failed: 0 };
      callers.calls.set(tool, sum);
      sum.calls += calls;
      sum.failed += failed;
    }
  }
  // An agent that was not looked at may have called any tool.
  if (rows.length > MOST_CALLERS) for (const callers of found.values()) callers.agents += 1;
  return found;
}

/** Calls of a tool, or of all tools of a server, by `toolMark`. */
function recentCalls(
  callers: Callers | undefined,
  tools: Iterable<number>,
): Pick<HeldToolView, "recent_calls" | "recent_failed" | "never_called"> {
  if (callers === undefined || callers.telling === 0)
    return { recent_calls: null, recent_failed: null, never_called: false };
  let [calls, failed] = [0, 0];
  for (const tool of tools) {
    const sum = callers.calls.get(tool);
    calls += sum?.calls ?? 0;
    failed += sum?.failed ?? 0;
  }
  const tellsAll = callers.telling === callers.agents;
  return { recent_calls: calls, recent_failed: failed, never_called: tellsAll && calls === 0 };
}

type Contents = Omit<StoredContents, "contents"> & { contents: TurnContents };
type ToolSum = Pick<HeldToolView, "harness" | "server" | "tool" | "windows" | "calls" | "tokens"> & {
  /** By `toolMark`. */
  marks: Set<number>;
};

/** Each tool, and each MCP server with all its tools. */
function toolsOf(stored: readonly Contents[], callers: ReadonlyMap<string, Callers>): HeldToolView[] {
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
    .map(({ marks, ...sum }) => {
      const { windows, tokens } = wholes.get(sum.harness)!;
      return {
        ...{ ...sum, of_windows: windows, share: tokens === 0 ? 0 : sum.tokens / tokens },
        ...recentCalls(callers.get(sum.harness), marks),
      };
    });
}

/** The sum of a tool, and that of its MCP server. */
function toolSums(sums: Map<string, ToolSum>, harness: string, tool: string): readonly ToolSum[] {
  const server = mcpServerOf(tool) ?? null;
  return (server === null ? [tool] : [tool, null]).map((name) => {
    const key = JSON.stringify([harness, server, name]);
    const counts = { windows: 0, calls: 0, tokens: 0 };
    const sum = sums.get(key) ?? { harness, server, tool: name, ...counts, marks: new Set<number>() };
    sums.set(key, sum);
    sum.marks.add(toolMark(tool));
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
