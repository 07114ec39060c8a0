import type { PolicyAnswer } from "@plimsoll/protocol/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  answerWith,
  type Fault,
  POLICY_HARNESS,
  POLICY_KEY,
  PolicyServer,
} from "../../../guard/src/testing/policy-server.ts";
import { until } from "../../../guard/src/testing/until.ts";
import { connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { followPolicy } from "./follow-policy.ts";

const subject = { harness: POLICY_HARNESS, model: undefined };
let server: PolicyServer;
let stop: AbortController;
let done: Promise<unknown>;
let troubles: string[];
let policies: PolicyAnswer[];
beforeEach(async () => {
  server = await new PolicyServer().start();
  stop = new AbortController();
  done = Promise.resolve();
  troubles = [];
  policies = [];
});
afterEach(async () => {
  stop.abort();
  await done;
  await server.close();
  expect(server.violations).toEqual([]);
});

/** Follows with this key until the test ends. */
async function follow(onPolicy?: (policy: PolicyAnswer) => Promise<void>, key = POLICY_KEY): Promise<void> {
  const connection = await connect({ url: server.url, key }, {});
  const take = async (policy: PolicyAnswer) => {
    await onPolicy?.(policy);
    policies.push(policy);
  };
  done = followPolicy(connection, subject, {
    signal: stop.signal,
    onPolicy: take,
    onTrouble: (message) => troubles.push(message),
  }).catch((error: unknown) => error);
}

const generations = () => policies.map(({ generation }) => generation);
const ceiling = (value: string) => ({ thresholds: { ceiling: value } });

describe("following a policy", () => {
  it("gives the first policy and each new one that the stream announces", async () => {
    server.save(ceiling("50%"));
    await follow();
    await until(() => server.streams.size === 1 && policies.length === 1);
    server.save(ceiling("40%"));
    await until(() => policies.length === 2);
    expect(policies.map(({ settings }) => settings)).toEqual([ceiling("50%"), ceiling("40%")]);
  });

  it("gives the same settings again if they were saved as a new generation while the stream was down", async () => {
    server.save(ceiling("50%"));
    await follow();
    await until(() => server.streams.size === 1 && policies.length === 1);
    for (const stream of server.streams) stream.destroy();
    server.save(ceiling("50%"));
    await until(() => policies.length === 2);
    expect(generations()).toEqual([1, 2]);
  });

  it.each<[string, Fault, string]>([
    ["a refused key", answerWith(401), "HTTP 401"],
    [
      "a missing scope",
      answerWith(403, '{"error":{"code":"forbidden","message":"Scope?"}}'),
      "HTTP 403. Scope?",
    ],
    ["an older server", answerWith(404), "HTTP 404"],
    ["a server without memory", answerWith(503, "", { "retry-after": "0" }), "HTTP 503"],
    ["nonsense", answerWith(200, "<html>"), "does not understand"],
    [
      "a newer format",
      answerWith(200, JSON.stringify({ generation: 1, hash: "x", settings: 3 })),
      "does not",
    ],
    [
      "a refusal without an end",
      (response) => void response.writeHead(500).write("x".repeat(1e7)),
      "HTTP 500",
    ],
  ])("keeps the last policy and says what is wrong: %s", async (_, fault, said) => {
    server.save(ceiling("50%"));
    await follow();
    await until(() => server.streams.size === 1 && policies.length === 1);
    server.fault = fault;
    server.notice(2);
    await until(() => troubles.length > 0);
    expect(troubles[0]).toContain(said);
    server.fault = undefined;
    server.save(ceiling("40%"), 3);
    await until(() => policies.length === 2);
  });

  it("asks again soon after an answer that is no policy", async () => {
    server.faults = [answerWith(200, "{}")];
    server.save(ceiling("50%"));
    await follow();
    await until(() => policies.length === 1);
    expect(troubles).toHaveLength(1);
  });

  it("gives a policy again that could not be applied for a reason that may pass", async () => {
    server.save(ceiling("50%"));
    let attempts = 0;
    await follow(async () => {
      attempts += 1;
      if (attempts === 1) throw new CliError("The disk is full.");
    });
    await until(() => policies.length === 1);
    expect(troubles).toEqual(["The disk is full."]);
  });

  it("ends with any other error of its caller, and closes its stream", async () => {
    server.save(ceiling("50%"));
    await follow(async () => {
      throw new TypeError("a bug");
    });
    expect(await done).toMatchObject({ message: "a bug" });
    await until(() => server.streams.size === 0);
  });

  it("ends at once when it is stopped, also before it began", async () => {
    stop.abort();
    await follow();
    await done;
    expect(server.asked).toEqual([]);
  });
});
