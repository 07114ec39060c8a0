import { afterEach, beforeEach, expect } from "vitest";
import { createGuard, type Guard } from "../guard.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { type PolicySource, type PolicySourceOptions, policySource } from "../policy-source/index.ts";
import { createReporter } from "../report/index.ts";
import { POLICY_HARNESS, POLICY_KEY, PolicyServer } from "./policy-server.ts";

export interface PolicyClient {
  guard: Guard;
  source: PolicySource;
  troubles: string[];
  ceiling(): unknown;
}

/** A server of policies for each test, and guards that follow it. Ends all of them, and fails if the server saw a violation. */
export function policyTests() {
  const closing: (() => unknown)[] = [];
  const context = {
    server: new PolicyServer(),
    client(options: Partial<PolicySourceOptions> = {}, policy: PolicyInput = {}): PolicyClient {
      const { url } = context.server;
      const reporter = createReporter({
        url: options.url ?? url,
        key: POLICY_KEY,
        flushMs: 5,
        random: () => 1,
      });
      const guard = createGuard({
        identity: { harness: POLICY_HARNESS },
        window: 10_000,
        policy,
        onEvent: reporter.record,
      });
      const troubles: string[] = [];
      const source = policySource({
        url,
        key: POLICY_KEY,
        harness: POLICY_HARNESS,
        guard,
        reporter,
        pollMs: 40,
        retryMs: 10,
        refusedMs: 40,
        onTrouble: (message) => troubles.push(message),
        ...options,
      });
      closing.push(
        () => reporter.close(500),
        () => source.close(),
      );
      return { guard, source, troubles, ceiling: () => guard.policy.thresholds?.ceiling };
    },
    /** What the server was told, by generation, status and code. */
    statuses: () => context.server.acks.map(({ generation, status, code }) => [generation, status, code]),
  };
  beforeEach(async () => {
    context.server = await new PolicyServer().start();
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    await context.server.close();
    expect(context.server.violations).toEqual([]);
  });
  return context;
}
