import { createOpenAI } from "@ai-sdk/openai";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { TokenLimiterProcessor } from "@mastra/core/processors";
import { generateText, type ModelMessage, pruneMessages } from "ai";
import { createAgent, summarizationMiddleware } from "langchain";
import OpenAI from "openai";
import { createGuard, type Message } from "../../packages/guard/src/index.ts";
import { chatShape, guardChat } from "../../packages/guard/src/openai/index.ts";
import { recallTool } from "../../packages/guard/src/recall/recall-tool.ts";
import { SUMMARY_MODEL } from "./server.ts";

/** A harness at work. */
export interface RunningContender {
  /** Sends the next prompt with these messages added. Throws if it was refused. */
  send(added: readonly Message[]): Promise<unknown>;
  /** Reads what was taken out of the context. */
  recall?(key: string): string | undefined;
}

export interface Contender {
  name: string;
  /** @param window tokens, of which `answer` are kept for the answer */
  start(url: string, window: number, answer: number): RunningContender;
}

const MODEL = "gpt-5.1";
const KEY = "scripted";

const chatMessage = ({ role, content, toolCalls, toolCallId }: Message): Record<string, unknown> => ({
  role,
  content,
  ...(toolCalls && {
    tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    })),
  }),
  ...(toolCallId && { tool_call_id: toolCallId }),
});

/** The share of the window at which context editing begins by default: 100,000 of 128,000 tokens. */
const TRIGGER_SHARE = 100 / 128;

const unguarded: Contender = {
  name: "no guard",
  start(url, _, answer) {
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
    const messages: Record<string, unknown>[] = [];
    return {
      send(added) {
        messages.push(...added.map(chatMessage));
        return openai.chat.completions.create({
          model: MODEL,
          messages: messages as never,
          max_completion_tokens: answer,
        });
      },
    };
  },
};

/** As the first snippet of docs/guard.md, with a store. */
const guarded: Contender = {
  name: "guard",
  start(url, window, answer) {
    const texts = new Map<string, string>();
    const guard = createGuard({
      identity: { harness: "bench", session: "s" },
      shape: chatShape,
      window,
      store: { put: (key, text) => void texts.set(key, text), get: (key) => texts.get(key) },
      onWarning: () => {},
    });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
    const openai = guardChat(client, guard, { summaryModel: SUMMARY_MODEL });
    const { execute: _, ...recall } = recallTool(guard.conversation());
    const messages: Record<string, unknown>[] = [];
    return {
      send(added) {
        messages.push(...added.map(chatMessage));
        return openai.chat.completions.create({
          model: MODEL,
          messages: messages as never,
          tools: [{ type: "function", function: { ...recall, parameters: { ...recall.parameters } } }],
          max_completion_tokens: answer,
        });
      },
      recall: (key) => guard.conversation().recall(key),
    };
  },
};

const modelMessage = (message: Message): ModelMessage => {
  const { role, content, toolCalls = [], toolCallId: id = "", toolName = "" } = message;
  switch (role) {
    case "assistant": {
      const calls = toolCalls.map((call) => ({
        type: "tool-call" as const,
        toolCallId: call.id,
        toolName: call.name,
        input: call.arguments,
      }));
      return { role, content: [{ type: "text", text: content }, ...calls] };
    }
    case "tool": {
      const output = { type: "text" as const, value: content };
      return { role, content: [{ type: "tool-result", toolCallId: id, toolName, output }] };
    }
    default:
      return { role: role as "system" | "user", content };
  }
};

/** With the settings of the example in the AI SDK's documentation. */
const pruned: Contender = {
  name: "AI SDK pruneMessages",
  start(url, _, answer) {
    const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat(MODEL);
    const messages: ModelMessage[] = [];
    return {
      send(added) {
        messages.push(...added.map(modelMessage));
        return generateText({
          model,
          messages: pruneMessages({
            messages,
            reasoning: "before-last-message",
            toolCalls: "before-last-2-messages",
            emptyMessages: "remove",
          }),
          allowSystemInMessages: true,
          maxOutputTokens: answer,
          maxRetries: 0,
        });
      },
    };
  },
};

const langChainMessage = ({ role, content, toolCalls = [], toolCallId: id = "" }: Message): BaseMessage => {
  switch (role) {
    case "assistant":
      return new AIMessage({
        content,
        tool_calls: toolCalls.map((call) => ({
          id: call.id,
          name: call.name,
          args: call.arguments as Record<string, unknown>,
          type: "tool_call" as const,
        })),
      });
    case "tool":
      return new ToolMessage({ content, tool_call_id: id });
    case "user":
      return new HumanMessage(content);
    default:
      return new SystemMessage(content);
  }
};

/** At 80 % of the window, as in LangChain's documentation; the other settings are its defaults. */
const summarized: Contender = {
  name: "LangChain summarizationMiddleware",
  start(url, window, answer) {
    const configuration = { baseURL: `${url}/v1` };
    const llm = (model: string) =>
      new ChatOpenAI({ model, apiKey: KEY, maxRetries: 0, maxTokens: answer, configuration });
    const trigger = { tokens: Math.round(window * 0.8) };
    const middleware = [summarizationMiddleware({ model: llm(SUMMARY_MODEL), trigger })];
    let agent: ReturnType<typeof createAgent> | undefined;
    let state: BaseMessage[] = [];
    return {
      async send(added) {
        const system = added.find(({ role }) => role === "system")?.content;
        agent ??= createAgent({
          model: llm(MODEL),
          tools: [],
          middleware,
          ...(system !== undefined && { systemPrompt: system }),
        }) as never;
        state.push(...added.filter(({ role }) => role !== "system").map(langChainMessage));
        const { messages } = (await agent!.invoke({ messages: state })) as { messages: BaseMessage[] };
        // The session has the answer.
        state = messages.slice(0, -1);
      },
    };
  },
};

const anthropicMessage = ({ role, content, toolCalls = [], toolCallId }: Message) =>
  role === "tool"
    ? {
        role: "user" as const,
        content: [{ type: "tool_result" as const, tool_use_id: toolCallId!, content }],
      }
    : {
        role: role as "user" | "assistant",
        content: [
          { type: "text" as const, text: content },
          ...toolCalls.map(({ id, name, arguments: input }) => ({
            type: "tool_use" as const,
            id,
            name,
            input,
          })),
        ],
      };

/** With the documented defaults; below 128k the trigger is the same share of the window. */
const edited: Contender = {
  name: "Anthropic context editing",
  start(url, window, answer) {
    const messages: ReturnType<typeof anthropicMessage>[] = [];
    let system = "";
    const trigger = { type: "input_tokens", value: Math.round(window * TRIGGER_SHARE) };
    return {
      async send(added) {
        for (const message of added)
          if (message.role === "system") system = message.content;
          else messages.push(anthropicMessage(message));
        const edits = [{ type: "clear_tool_uses_20250919", trigger }];
        const answered = await fetch(`${url}/v1/messages`, {
          method: "POST",
          headers: { "anthropic-version": "2023-06-01", "anthropic-beta": "context-management-2025-06-27" },
          body: JSON.stringify({
            model: "claude-sonnet-5",
            max_tokens: answer,
            system,
            messages,
            context_management: { edits },
          }),
        });
        const text = await answered.text();
        if (!answered.ok) throw new Error(text);
      },
    };
  },
};

/** The limit is what the window has beside the answer. */
const limited: Contender = {
  name: "Mastra TokenLimiterProcessor",
  start(url, window, answer) {
    const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat(MODEL);
    const messages: ModelMessage[] = [];
    let agent: Agent | undefined;
    return {
      send(added) {
        const instructions = added.find(({ role }) => role === "system")?.content;
        if (agent === undefined) {
          agent = new Agent({
            id: "bench",
            name: "bench",
            instructions: instructions ?? "",
            model,
            maxRetries: 0,
            inputProcessors: [new TokenLimiterProcessor({ limit: window - answer })],
          });
          // Otherwise it prints every refusal.
          new Mastra({ agents: { agent }, logger: false });
        }
        messages.push(...added.filter(({ role }) => role !== "system").map(modelMessage));
        return agent.generate(messages as never, {
          maxSteps: 1,
          modelSettings: { maxOutputTokens: answer, maxRetries: 0 },
        });
      },
    };
  },
};

/** Each with the settings that its documentation names. */
export const CONTENDERS: readonly Contender[] = [unguarded, guarded, pruned, summarized, edited, limited];
