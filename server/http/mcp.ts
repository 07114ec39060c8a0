import type { ServerContext } from "@modelcontextprotocol/server";
import {
  fillsAnswer,
  fitAnswer,
  headroomAnswer,
  refused,
  resultOf,
  TOKENS_FIT,
  TOOLS,
  type ToolAnswer,
} from "@plimsoll/harnesses/agent-tools";
import { callProof, sharesHeaders } from "@plimsoll/harnesses/callers";
import { AGENT_HEADER, SESSION_HEADER } from "@plimsoll/protocol/api";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import type { JudgedLevel, OwnLevels, OwnRefusal, StatedAgent } from "../read/own-levels.ts";
import { checkOrigin } from "../tenants/access/origin.ts";
import { type Access, factsOf, type Principal } from "../tenants/access/principal.ts";
import type { MachineContext, MachineEnv } from "./app.ts";
import type { BodyRoom } from "./body-room.ts";
import { parsedJson, withCallBody } from "./call-body.ts";
import { foreseen, logError, nextRequestId } from "./respond.ts";

export interface McpRoutesDeps {
  access: Pick<Access, "authorizeRead">;
  ownLevels: (projectId: number, stated: StatedAgent) => Promise<OwnLevels | { refused: OwnRefusal }>;
  room: BodyRoom;
  version: string;
  clock: () => number;
  log: Logger;
}

const PATH = "/api/v1/mcp";
const NO_STREAM = { jsonrpc: "2.0", id: null, error: { code: -32_000, message: "Send POST." } };
/** What a sender of events may call a session or an agent. */
const NAME = /^[^\0\ud800-\udfff]{1,256}$/u;

/** `POST /api/v1/mcp`: the tools of an agent that has no Plimsoll on its machine; see docs/mcp.md. */
export function mcpRoutes(deps: McpRoutesDeps) {
  return (app: Hono<MachineEnv>): void => {
    app.post(PATH, async (c) => {
      const { incoming } = c.env;
      const facts = factsOf(incoming);
      if ((facts.origin ?? facts.secFetchSite) !== undefined && !checkOrigin(facts))
        throw new PlimsollError("forbidden_scope", "A page of another origin may not call tools.");
      const principal = await deps.access.authorizeRead(incoming, "ask about oneself");
      // The library takes longer to load than a small server to start.
      const { createMcpHandler } = await import("@modelcontextprotocol/server");
      const { fetch } = createMcpHandler(() => agentServer(deps, principal, c), {
        // Nothing here changes, so nobody waits for it.
        maxSubscriptions: 0,
        onerror: (err) => deps.log.debug({ err }, "an MCP message was refused"),
      });
      const { method, headers, url } = c.req.raw;
      return withCallBody(deps.room, principal.projectId, incoming, (bytes) => {
        const parsedBody = parsedJson(bytes);
        if (Array.isArray(parsedBody))
          throw new PlimsollError("bad_request", "Send one message of JSON-RPC a request, not an array.");
        return fetch(new Request(url, { method, headers }), { parsedBody });
      });
    });
    // A client that asks for a stream must hear in its own protocol that there is none.
    app.all(PATH, (c) => c.json(NO_STREAM, 405, { Allow: "POST" }));
  };
}

/** Answers one request of one caller. */
async function agentServer(deps: McpRoutesDeps, principal: Principal, c: MachineContext) {
  const { version, ownLevels, clock, log } = deps;
  const { McpServer } = await import("@modelcontextprotocol/server");
  const server = new McpServer({ name: "plimsoll", version }, { capabilities: { tools: {} } });

  /** Answers with what `answer` returns about the agent that the call states. */
  const about =
    <Arguments>(answer: (found: OwnLevels, given: Arguments) => ToolAnswer | Promise<ToolAnswer>) =>
    async (given: Arguments, { mcpReq }: Pick<ServerContext, "mcpReq">) => {
      try {
        const stated = statedBy((name) => c.req.header(name), mcpReq._meta, principal.harness);
        if ("refused" in stated) return resultOf(refused(stated.refused));
        const found = await ownLevels(principal.projectId, { ...stated, harness: principal.harness });
        return resultOf("refused" in found ? refused(found.refused) : await answer(found, given));
      } catch (thrown) {
        logError(log, foreseen(thrown), { method: "POST", path: PATH, requestId: nextRequestId() });
        return resultOf(refused("unavailable"));
      }
    };

  server.registerTool(
    "headroom",
    TOOLS.headroom,
    about(({ own, others }, { detail = false }: { detail?: boolean | undefined }) => {
      const lineOf = ({ line }: JudgedLevel) => line;
      return headroomAnswer(own, others, { lineOf, server: "known", note: undefined, now: clock(), detail });
    }),
  );
  server.registerTool(
    "will_it_fit",
    TOKENS_FIT,
    about(({ own }, { tokens }: { tokens: number }) => fitAnswer(tokens, own, own.line)),
  );
  server.registerTool(
    "what_fills",
    TOOLS.what_fills,
    about(async ({ contents }) => {
      const filled = await contents();
      if (filled === undefined) return refused("no_contents");
      return { ...fillsAnswer(filled), age_s: Math.max(0, Math.round((clock() - filled.at) / 1_000)) };
    }),
  );
  return server;
}

/**
 * The session and agent that a call states: in its headers, which its harness sets, or in `_meta`, where the harness does so by itself.
 * A model can change neither.
 */
export function statedBy(
  header: (name: string) => string | undefined,
  meta: unknown,
  harness: string | undefined,
): Omit<StatedAgent, "harness"> | { refused: "no_session" | "no_agent" | "other_session" | OwnRefusal } {
  const [session, agent] = [SESSION_HEADER, AGENT_HEADER].map((name) => decoded(header(name)) || undefined);
  const proof = callProof(meta)?.proof;
  const named = proof?.kind === "session" ? proof.id : undefined;
  if (session !== undefined && named !== undefined && session !== named) return { refused: "other_session" };
  const stated = session ?? named;
  if (stated === undefined) return { refused: "no_session" };
  // A sub-agent may call before the server knows of it. A call that has an id is one of Claude Code, whatever the key says.
  const isShared = proof?.kind === "call" || (proof === undefined && sharesHeaders(harness ?? ""));
  if (isShared && agent === undefined) return { refused: "no_agent" };
  return [stated, agent ?? "main"].every((name) => NAME.test(name))
    ? { session: stated, agent }
    : { refused: "unknown_session" };
}

/** A header holds ASCII alone, so clients send a name URI-encoded. */
function decoded(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
}
