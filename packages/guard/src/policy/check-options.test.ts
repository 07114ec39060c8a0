import { describe, expect, it } from "vitest";
import { aiShape, guardMiddleware, guardSteps } from "../ai-sdk/index.ts";
import { ClaudeSession } from "../claude-agent-sdk/index.ts";
import { Conversation } from "../conversation/index.ts";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import { chatShape, guardChat } from "../openai/index.ts";
import { policySource } from "../policy-source/index.ts";
import { createReporter } from "../report/index.ts";
import { optimistic } from "../watcher/index.ts";
import { DEFAULT_POLICY, type PolicyInput, resolvePolicy } from "./policy.ts";

const create = (options: object) => () => createGuard({ identity: { harness: "h" }, ...options });

describe("options of a guard", () => {
  it.each<[policy: object, message: string]>([
    [
      { thresholds: { ceiling: 0.2 } },
      'policy.thresholds.ceiling: 0.2 would be 0.2 tokens. Write "20%" for a share of the window.',
    ],
    [{ thresholds: { hard: -0.125 } }, 'Write "12.5%" for a share of the window.'],
    [
      { thresholds: { soft: "0.7" } },
      'policy.thresholds.soft: "0.7" must be a share of the window such as "20%"',
    ],
    [{ thresholds: { soft: "120%" } }, "policy.thresholds.soft"],
    [
      { thresholds: { ceiling: { percent: 20 } } },
      'policy.thresholds.ceiling: {"percent":20} must have a percent above 0 and at most 100 and a floor in tokens',
    ],
    [{ thresholds: { ceiling: { percent: 0.2, floor: -1 } } }, "such as { percent: 20, floor: 40_000 }"],
    [{ pace: { minTurns: -1 } }, "policy.pace.minTurns: -1 must be a whole number of 0 or more"],
    [{ overflow: "drop" }, 'policy.overflow: "drop" must be "cut" or "refuse" or "send_anyway".'],
    [{ pace: null }, "policy.pace: must be an object."],
    [{ thresholds: { warning: 0 } }, "policy.thresholds.warning: 0 must be a number of tokens"],
    [
      { thresholds: { ceilling: "20%" } },
      "policy.thresholds.ceilling: is no option. Options: warning, ceiling",
    ],
    [
      { treshold: {} },
      "policy.treshold: is no option. Options: thresholds, mode, mask, compact, pace, restart, overflow.",
    ],
    [{ thresholds: null }, "policy.thresholds: must be an object."],
    [{ mode: "warn" }, 'policy.mode: "warn" must be "enforce" or "warn_only".'],
    [{ mask: { minGain: 3 } }, "policy.mask.minGain: 3 must be a fraction from 0 to 1"],
    [{ compact: { how: "fresh" } }, 'policy.compact.how: "fresh" must be "compact" or "fresh_session".'],
    [
      { restart: { max: 1.5 } },
      "policy.restart.max: 1.5 must be a whole number of 0 or more, or null for no limit.",
    ],
  ])("%j are refused with the field and the fix", (policy, message) => {
    expect(create({ policy })).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(create({ policy })).toThrow(message);
  });

  it.each([0, -1, 0.5, "128k", Number.NaN])("the window %j is refused", (window) => {
    expect(create({ window })).toThrow("window:");
  });

  it.each<[options: object, message: string]>([
    [{ windowTokens: 9_000 }, "windowTokens: is no option. Options: identity, policy, shape, model, window"],
    [{ polcy: {} }, "polcy: is no option."],
    [{ identity: {} }, 'identity: {} must name the harness, such as { harness: "my-bot@host-1" }.'],
    [{ identity: null }, "identity: null must name the harness"],
    [{ identity: undefined }, "identity: undefined must name the harness"],
    [{ identity: { harness: "" } }, "must name the harness"],
    [{ onEvent: "x" }, 'onEvent: "x" must be a function.'],
    [{ onWarning: 1 }, "onWarning: 1 must be a function."],
    [{ tokenizer: "gpt" }, "tokenizer:"],
    [{ clock: 0 }, "clock: 0 must be a function."],
    [{ notices: "inline" }, 'notices: "inline" must be "merge" or "system" or "off".'],
    [{ noticeCounts: true }, 'noticeCounts: true must be "by_model" or "always" or "never".'],
    [{ shape: {} }, "shape: {} must be an object with the functions read, replace, user."],
    [{ store: new Map() }, "store: {} must be an object with the functions put, get."],
    [{ policy: "strict" }, "policy: must be an object."],
    [{ policy: null }, "policy: must be an object."],
    [
      { policy: { thresholds: { soft: "90%", hard: "70%" } } },
      'policy.thresholds.soft: "90%" is above hard, "70%". The guard masks at the soft line',
    ],
    [
      { window: 10_000, policy: { thresholds: { soft: 9_000, hard: "80%" } } },
      'policy.thresholds.soft: 9000 is above hard, "80%".',
    ],
  ])("%j is refused by its name", (options, message) => {
    expect(create(options)).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(create(options)).toThrow(message);
  });

  const identity = { harness: "h", session: "s" };

  it.each<[options: object, message: string]>([
    [{ windowTokens: 9_000 }, "windowTokens: is no option. Options: identity, policy, shape, model, window"],
    [{ polcy: undefined }, "polcy: is no option."],
    [{ summarize: () => "" }, "summarize: is no option."],
    [{ conversation: () => "k" }, "conversation: is no option."],
    [{ onEvent: "x" }, 'onEvent: "x" must be a function.'],
  ])("%j are refused by a conversation of its own", (options, message) => {
    const make = () => new Conversation({ identity, ...options } as never);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(make).toThrow(message);
  });

  it("a missing options object is refused by its first option", () => {
    expect(() => createGuard(undefined as never)).toThrow("identity: undefined must name the harness");
    expect(() => new Conversation(undefined as never)).toThrow("identity: undefined must name the harness");
  });

  it("a conversation goes on from its state", () => {
    const { state } = new Conversation({ identity });
    expect(new Conversation({ identity, state }).state).toEqual(state);
  });

  it.each<[options: object, message: string]>([
    [{ maxTokens: 5 }, "maxTokens: is no option. Options: identity, policy,"],
    [
      { Query: () => {} },
      ", query, options, maxToolOutputChars, say, confirm, onStop, summarize, summarizeMs,",
    ],
    [{ summaryModel: "small" }, "summaryModel: is no option."],
    [{ onStop: "refuse" }, 'onStop: "refuse" must be "throw" or "send".'],
    [{ summarizeMs: -1 }, "summarizeMs: -1 must be a time in ms of 0 or more."],
    [{ say: "hello" }, 'say: "hello" must be a function.'],
  ])("%j of a ClaudeSession are refused by their names", (options, message) => {
    const make = () => new ClaudeSession({ query: (() => {}) as never, identity, ...options });
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(make).toThrow(message);
  });

  it("a ClaudeSession takes all of its own", () => {
    const own = {
      ...{
        query: (() => {}) as never,
        options: {},
        maxToolOutputChars: 9,
        say: () => {},
        confirm: () => true,
      },
      ...{ onStop: "send" as const, summarize: () => "", summarizeMs: 5, onSummaryError: () => {} },
      getSessionMessages: async () => [],
    };
    expect(() => new ClaudeSession({ identity, ...own })).not.toThrow();
  });

  it("that cannot be shown are named", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(create({ onEvent: cycle })).toThrow("onEvent: the value must be a function.");
  });

  it("take lines of different units in a window of unknown size, and equal lines", () => {
    expect(create({ policy: { thresholds: { soft: 50_000, hard: "90%" } } })).not.toThrow();
    expect(create({ policy: { thresholds: { soft: "80%", hard: "80%" } } })).not.toThrow();
    expect(create({ policy: { thresholds: { hard: "50%" } } })).not.toThrow();
  });

  it.each<[options: object, message: string]>([
    [{ summarise: () => "" }, "summarise: is no option. Options: summarize,"],
    [{ summarize: "with_model" }, 'summarize: "with_model" must be a function or "without_model".'],
    [{ onStop: "refuse" }, 'onStop: "refuse" must be "throw" or "send".'],
    [{ summarizeMs: -1 }, "summarizeMs: -1 must be a time in ms of 0 or more."],
    [{ summarizeMs: Number.NaN }, "summarizeMs: "],
    [{ say: "hello" }, 'say: "hello" must be a function.'],
    [{ outputTokens: -5 }, "outputTokens: -5"],
  ])("%j of fit and of a wrapped client is refused by its name", async (options, message) => {
    const guard = createGuard({ identity: { harness: "h" }, window: 9_000, shape: chatShape });
    const client = { chat: { completions: { create: async () => ({}) } } };
    expect(() => guardChat(client, guard, options)).toThrow(message);
    expect(() =>
      guardMiddleware(createGuard({ identity: { harness: "h" }, shape: aiShape }), options),
    ).toThrow(message);
    await expect(fit(guard.conversation(), [], options)).rejects.toThrow(message);
  });

  it.each<[name: string, create: (options: object) => unknown]>([
    ["timeoutMs", (options) => createReporter(options)],
    ["patienceMs", (options) => optimistic(createGuard({ identity: { harness: "h" } }), options)],
    ["pollMs", (options) => policySource(options as never)],
  ])("a negative %s is refused by its name, and so is an unknown option", (name, make) => {
    expect(() => make({ [name]: -1 })).toThrow(`${name}: -1 must be a time in ms of 0 or more.`);
    expect(() => make({ uri: "http://127.0.0.1" })).toThrow("uri: is no option. Options: ");
  });

  it("what a policy source cannot do without is named", () => {
    expect(() => policySource({ url: "http://127.0.0.1", key: "k", harness: "h" } as never)).toThrow(
      "guard: is missing.",
    );
  });

  it("a missing shape is named by the wrapper, and by the first message that is no text", async () => {
    const guard = createGuard({ identity: { harness: "h" }, window: 9_000 });
    const client = { chat: { completions: { create: async () => ({}) } } };
    expect(() => guardChat(client, guard as never)).toThrow(
      "shape: is missing. Pass chatShape as shape to createGuard.",
    );
    expect(() => guardChat(client, undefined as never)).toThrow("shape: is missing.");
    expect(() => guardSteps(guard.conversation() as never)).toThrow("Pass aiShape as shape to createGuard.");
    const parts = [{ role: "user", content: [{ type: "text", text: "hello" }] }];
    await expect(fit(guard.conversation(), parts as never)).rejects.toThrow(
      "shape: the content of a message",
    );
    await expect(fit(guard.conversation(), [null] as never)).rejects.toThrow("shape: the content");
  });

  it("a window may be the id of a model, if the catalog has it", () => {
    expect(create({ window: "anthropic/claude-haiku-4-5" })).not.toThrow();
    expect(create({ window: "gpt-99" })).toThrow(
      'window: "gpt-99" is not in the catalog of models. Pass the size in tokens, such as 128_000.',
    );
  });

  it("take the default policy, and what is left out or switched off", () => {
    const policies: PolicyInput[] = [
      DEFAULT_POLICY,
      {},
      { mask: null, compact: null, restart: null },
      { thresholds: { ceiling: "20%", reserve: -16_000, hard: null, soft: 50_000 } },
      { thresholds: { ceiling: { percent: 20, floor: 40_000 } }, pace: { minTurns: 0 } },
      { mask: { longTexts: null, keepTurns: undefined as never } },
    ];
    for (const policy of policies) expect(create({ policy })).not.toThrow();
  });

  it("that are undefined take their default", () => {
    const policy = { mask: { keepTurns: undefined as never }, thresholds: { soft: undefined as never } };
    expect(resolvePolicy(policy)).toEqual(DEFAULT_POLICY);
  });
});
