import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { ClaudeSession, type ClaudeSessionOptions } from "../claude-agent-sdk/index.ts";
import type { SdkUserMessage } from "../claude-agent-sdk/sdk-types.ts";
import {
  type ModelRequest,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from "./scripted-model/index.ts";

/** Time for several starts of the SDK's process on a busy machine, in ms. */
export const PATIENCE = 120_000;

/** The real SDK with an empty home, against a scripted model on loopback. Call it once in a test file. */
export function sdkUnderTest() {
  const setup = { home: "", model: undefined as ScriptedModel | undefined };
  beforeAll(async () => {
    setup.home = await mkdtemp(join(tmpdir(), "guard-claude-"));
    await writeFile(join(setup.home, "big.txt"), `begin\n${"a line of the big file\n".repeat(900)}end\n`);
  });
  afterEach(() => setup.model?.close());
  afterAll(() => rm(setup.home, { recursive: true, force: true }));

  /** Options that isolate the SDK: no inherited key or home, and the scripted model as its only server. */
  const clean = (url: string) => ({
    cwd: setup.home,
    settingSources: [],
    model: "claude-opus-5",
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
    tools: ["Read", "Bash"],
    env: {
      PATH: process.env.PATH,
      HOME: setup.home,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      IS_SANDBOX: "1",
    },
  });

  /** Creates a session whose model follows the script. Events are validated. */
  async function session(
    script: Script,
    { options, ...over }: Partial<ClaudeSessionOptions<SDKMessage>> = {},
  ) {
    setup.model = await startScriptedModel(ofMain(script));
    const { requests, url } = setup.model;
    const events: PlimsollEventInput[] = [];
    const said: string[] = [];
    const begin = (more: Partial<ClaudeSessionOptions<SDKMessage>> = {}) =>
      new ClaudeSession<SDKMessage>({
        query,
        identity: { harness: "test", session: "s" },
        policy: { thresholds: { warning: 30_000, ceiling: 40_000, soft: null, hard: "90%" } },
        window: 200_000,
        onEvent: (event) => {
          expect(parseEvent(event), JSON.stringify(event)).toMatchObject({ ok: true });
          events.push(event);
        },
        say: (text) => said.push(text),
        ...over,
        ...more,
        options: { ...clean(url), ...options, ...more.options },
      });
    const claude = begin();
    /** Requests of the agent itself, not of the SDK's helpers. */
    const asked = () => requests.filter(isMain);
    return { claude, url, begin, events, said, asked, send: (prompt: Prompt) => all(claude.send(prompt)) };
  }
  return { setup, session, clean };
}

type Prompt = Parameters<ClaudeSession<SDKMessage>["send"]>[0];

/** Reads all messages of a call of `send`. */
export async function all<M>(messages: AsyncIterable<M>): Promise<M[]> {
  const read: M[] = [];
  for await (const message of messages) read.push(message);
  return read;
}

/** A prompt in the SDK's format. */
export function userMessage(content: string): SdkUserMessage {
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
}

/** A call of the shell, with the prompt tokens that the model reports. */
export function shell(command: string, promptTokens: number) {
  return { calls: [{ name: "Bash", arguments: { command, description: "work" } }], promptTokens };
}

const isMain = ({ body }: ModelRequest) => Array.isArray(body.tools) && body.tools.length > 0;

/** Runs the script for the main agent only. The SDK's helper calls, such as for titles, have no tools. */
const ofMain =
  (script: Script): Script =>
  (request) =>
    isMain(request) ? script(request) : { text: "ok" };
