import type { CallGrowth } from "../measure/forecast.ts";
import { inputsOf } from "./inputs.ts";
import { LiveQuery } from "./live-query.ts";
import { blocksOf, type SdkMessage, type SdkQuery, type SdkUserMessage } from "./sdk-types.ts";
import { STOP, withStepHook } from "./step-hook.ts";
import { growthOf, growthOfBlock } from "./transcript.ts";

/** Options of {@link StoppableQuery}. */
export interface StoppableQueryOptions<M> {
  /** The SDK's `query` function. */
  query: SdkQuery<M>;
  prompt: string | SdkUserMessage;
  /** The SDK's options. Hooks in them run in addition to the guard's. */
  options?: Record<string, unknown>;
  /** Gets each message as soon as the SDK has it, such as `observe` of a tick. */
  onMessage?: (message: M) => void;
  /** Called at each step of the main agent with what the next call adds. Returns true to stop before that call. */
  isOver: (next: CallGrowth) => boolean;
}

/**
 * One prompt to the Claude Agent SDK that can stop between two steps: after all tools of a response have answered, and
 * before the next call. Iterate over it once to run it. It yields every message of the SDK.
 * @example
 * const work = new StoppableQuery({ query, prompt: tick.prompt, onMessage: tick.observe, isOver: tick.overBudget });
 * for await (const message of work) console.log(message.type);
 * if (work.stopped) console.log("the tick yields");
 */
export class StoppableQuery<M extends SdkMessage> implements AsyncIterable<M> {
  readonly #options: StoppableQueryOptions<M>;
  readonly #answered = new Set<string>();
  /** What was said since the last call. */
  #content: unknown[] = [];
  #tokens = 0;
  #lastCall: string | undefined;
  #stopped = false;

  constructor(options: StoppableQueryOptions<M>) {
    this.#options = options;
  }

  /** True once `isOver` has stopped the query. */
  get stopped(): boolean {
    return this.#stopped;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<M> {
    const { query, prompt, options = {} } = this.#options;
    const hooks = withStepHook(options.hooks, ({ tool_calls = [] }) => {
      for (const call of tool_calls) this.#toolAnswered(call.tool_use_id, call.tool_response);
      this.#stopped ||= this.#options.isOver({ content: this.#content, tokens: this.#tokens });
      return this.#stopped ? STOP : {};
    });
    const live = new LiveQuery(query, { ...options, hooks }, (message) => this.#take(message));
    try {
      const { value } = await inputsOf(prompt).next();
      live.push(value as SdkUserMessage);
      live.end();
      for (;;) {
        const { done, value: message } = await live.next();
        if (done === true) return;
        yield message;
      }
    } finally {
      live.close();
    }
  }

  #take(message: M): void {
    this.#options.onMessage?.(message);
    const { parent_tool_use_id: parent, message: said } = message as M & {
      parent_tool_use_id?: unknown;
      message?: { id?: string };
    };
    if (parent != null) return;
    if (message.type === "assistant" && said?.id !== this.#lastCall) {
      this.#lastCall = said?.id;
      this.#content = [];
      this.#tokens = 0;
    }
    for (const block of blocksOf(message)) {
      if (block.type === "tool_result") this.#toolAnswered(block.tool_use_id ?? "", block.content);
      else this.#add(growthOfBlock(block));
    }
  }

  #toolAnswered(id: string, output: unknown): void {
    if (this.#answered.has(id)) return;
    this.#answered.add(id);
    this.#add(growthOf(output));
  }

  #add({ content, tokens }: Required<CallGrowth>): void {
    this.#content.push(content);
    this.#tokens += tokens;
  }
}
