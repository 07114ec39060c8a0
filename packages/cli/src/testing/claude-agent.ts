import { randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

const MODEL = "claude-haiku-4-5";

/** An agent of Claude Code that writes its recording as Claude Code does. */
export class ClaudeAgent {
  readonly session: string;
  /** Path of its recording. */
  readonly path: string;
  readonly #subagent: string | undefined;
  #parent: string | null = null;
  #at: number;

  /** @param subagent the id of a sub-agent of the session */
  constructor(
    home: string,
    { session = randomUUID(), subagent }: { session?: string; subagent?: string } = {},
  ) {
    const file =
      subagent === undefined ? `${session}.jsonl` : join(session, "subagents", `agent-${subagent}.jsonl`);
    this.session = session;
    this.#subagent = subagent;
    this.path = join(home, ".claude/projects/-work", file);
    // Calls of a past, so that none is later than the clock.
    this.#at = Date.now() - 3_600_000;
    mkdirSync(dirname(this.path), { recursive: true });
  }

  prompt(text: string): this {
    return this.#line("user", { message: { role: "user", content: text } });
  }

  /**
   * An answer that calls a tool.
   * @param level context tokens of the prompt
   * @returns the id of the call
   */
  call(
    level: number,
    name = "mcp__plimsoll__headroom",
    input: object = {},
    id = `toolu_${randomUUID()}`,
  ): string {
    const usage = { input_tokens: 4, cache_read_input_tokens: level - 4, output_tokens: 20 };
    const content = [{ type: "tool_use", id, name, input }];
    const message = { id: `msg_${randomUUID()}`, role: "assistant", model: MODEL, content, usage };
    this.#line("assistant", { requestId: `req_${id}`, message: { ...message, stop_reason: "tool_use" } });
    return id;
  }

  result(call: string, text: string): this {
    const content = [{ type: "tool_result", tool_use_id: call, content: [{ type: "text", text }] }];
    return this.#line("user", { message: { role: "user", content } });
  }

  /** An instruction file that is loaded with a file beside it. */
  memory(path: string, text: string): this {
    const attachment = { type: "nested_memory", path, content: { path, content: text } };
    return this.#line("attachment", { attachment });
  }

  compaction(summary: string): this {
    this.#line("system", {
      subtype: "compact_boundary",
      compactMetadata: { trigger: "auto", preTokens: 150_000 },
    });
    return this.#line("user", { isCompactSummary: true, message: { role: "user", content: summary } });
  }

  #line(type: string, more: object): this {
    const uuid = randomUUID();
    this.#at += 1_000;
    const line = {
      ...{ parentUuid: this.#parent, isSidechain: this.#subagent !== undefined, type, uuid },
      ...{ sessionId: this.session, timestamp: new Date(this.#at).toISOString(), cwd: "/work" },
      ...(this.#subagent !== undefined && { agentId: this.#subagent }),
      ...more,
    };
    this.#parent = uuid;
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
    return this;
  }
}
