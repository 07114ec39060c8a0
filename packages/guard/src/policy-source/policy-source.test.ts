import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import { policyTests } from "../testing/policy-client.ts";
import {
  answerWith,
  hashOfSettings,
  neverAnswer,
  POLICY_HARNESS,
  POLICY_KEY,
  PolicyServer,
  policyBody,
} from "../testing/policy-server.ts";
import { until } from "../testing/until.ts";

const t = policyTests();
const { client, statuses } = t;

describe("a guard on the project's policy", () => {
  it("applies the first policy and acknowledges it once with all settings in force", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source, ceiling } = client({}, { thresholds: { hard: "95%" } });
    await until(() => t.server.acks.length > 0 && t.server.streams.size === 1);
    expect(ceiling()).toBe("50%");
    expect(source.generation).toBe(1);
    await source.check();
    await source.check();
    expect(t.server.acks).toHaveLength(1);
    expect(t.server.acks[0]).toMatchObject({
      generation: 1,
      hash: hashOfSettings(t.server.settings),
      status: "applied",
      effective: { thresholds: { ceiling: "50%", hard: "95%", warning: "60%" }, overflow: "cut" },
    });
    expect(t.server.acks[0]!.session).toBeUndefined();
  });

  it("follows a notice, and takes an older body that comes back as a new generation", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source, ceiling } = client({ pollMs: 1e6 });
    await until(() => t.server.streams.size === 1 && source.generation === 1);
    t.server.save({ thresholds: { ceiling: "40%" } });
    await until(() => ceiling() === "40%");
    t.server.save({ thresholds: { ceiling: "50%" } });
    await until(() => source.generation === 3 && t.server.acks.length === 3);
    expect(ceiling()).toBe("50%");
    expect(statuses().map(([generation]) => generation)).toEqual([1, 2, 3]);
  });

  it("polls with the hash when streaming fails, and learns of a repeated body by the header", async () => {
    t.server.streamFault = answerWith(404);
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source } = client();
    await until(() => t.server.asked.filter((tag) => tag !== undefined).length >= 2);
    t.server.save({ thresholds: { ceiling: "50%" } });
    await until(() => source.generation === 2);
  });

  it("hears of a change from the answers to its own events", async () => {
    t.server.streamFault = answerWith(404);
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { guard, source, ceiling } = client({ pollMs: 1e6, retryMs: 1e6 });
    await until(() => source.generation === 1 && t.server.acks.length === 1);
    t.server.save({ thresholds: { ceiling: "45%" } });
    const thread = guard.conversation();
    await fit(thread, [{ role: "user", content: "Hello" }]);
    thread.observe({ usage: { input_tokens: 100, output_tokens: 5 } }, { model: "m" });
    await until(() => ceiling() === "45%");
  });

  it("keeps an older version that a staged rollout serves, without asking in circles", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    t.server.newest = 5;
    const { source } = client({ pollMs: 1e6 });
    await until(() => source.generation === 1 && t.server.streams.size === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(t.server.asked.length).toBeLessThanOrEqual(3);
  });

  it("fetches again after the stream broke, even if nothing was told", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { ceiling } = client({ pollMs: 1e6 });
    await until(() => t.server.streams.size === 1);
    t.server.generation = 2;
    t.server.settings = { thresholds: { ceiling: "45%" } };
    for (const stream of t.server.streams) stream.destroy();
    await until(() => ceiling() === "45%");
  });

  it("closes a stream that went silent and opens another", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    client({ silentMs: 60 });
    await until(() => t.server.streamed >= 3);
  });

  it("goes back to the harness's own policy when the project has none any more", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source, ceiling } = client({ restoredMs: 0 }, { thresholds: { ceiling: "77%" } });
    await until(() => source.generation === 1);
    t.server.save({}, 0);
    await until(() => ceiling() === "77%");
    expect(source.generation).toBe(0);
  });
});

describe("a turn under a policy that changes", () => {
  const history = [{ role: "user", content: "word ".repeat(4_000) }] as const;

  it("ends under the policy it began with, and the next turn of every conversation obeys the new one", async () => {
    const { guard } = client();
    const [one, other] = [guard.conversation("one"), guard.conversation("other")];
    guard.conversation("late");
    one.prepare([...history]);
    guard.changePolicy({ thresholds: { ceiling: "20%" } });
    expect(one.policy.thresholds.ceiling).toBe("80%");
    one.observe({ usage: { input_tokens: 100 } }, { model: "m" });
    expect(one.policy.thresholds.ceiling).toBe("20%");
    expect(other.policy.thresholds.ceiling).toBe("80%");
    other.prepare([...history]);
    expect(other.policy.thresholds.ceiling).toBe("20%");
    expect(guard.conversation("new").policy.thresholds.ceiling).toBe("20%");
  });

  it("is not switched while a summary of it is written", async () => {
    const { guard } = client(
      {},
      { thresholds: { ceiling: "30%" }, compact: { keepTurns: 1 }, restart: null },
    );
    const thread = guard.conversation();
    const turns = Array.from({ length: 12 }, (_, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `turn ${at} ${"word ".repeat(400)}`,
    }));
    let during: unknown;
    await fit(thread, turns, {
      summarize: () => {
        guard.changePolicy({ thresholds: { ceiling: "99%" } });
        return "Short.";
      },
      say: () => {},
      onSummaryError: () => {},
    }).then(() => {
      during = thread.policy.thresholds.ceiling;
    });
    expect(during).toBe("30%");
    thread.prepare(turns);
    expect(thread.policy.thresholds.ceiling).toBe("99%");
  });

  it("reports crossings with the tokens of the new threshold", () => {
    const crossed: unknown[] = [];
    const guard = createGuard({
      identity: { harness: POLICY_HARNESS },
      window: 10_000,
      policy: { thresholds: { ceiling: "80%" } },
      onEvent: (event) => {
        if (event.type === "threshold_crossed" && event.threshold === "ceiling")
          crossed.push(event.threshold_tokens);
      },
    });
    const thread = guard.conversation();
    thread.observe({ usage: { input_tokens: 5_000 } }, { model: "m" });
    guard.changePolicy({ thresholds: { ceiling: "40%" } });
    thread.prepare([{ role: "user", content: "Hello" }]);
    thread.observe({ usage: { input_tokens: 5_100 } }, { model: "m", answered: true, sent: undefined });
    expect(crossed).toEqual([4_000]);
  });
});

describe("an answer that is no policy changes nothing", () => {
  const good = { thresholds: { ceiling: "50%" } };
  const whole = policyBody(2, { thresholds: { ceiling: "10%" } });
  it.each([
    ["an empty body", answerWith(200)],
    ["an empty object", answerWith(200, "{}")],
    ["a page of HTML", answerWith(200, "<!doctype html><title>Sign in</title>")],
    ["a truncated body", answerWith(200, whole.slice(0, -20))],
    ["missing settings", answerWith(200, JSON.stringify({ generation: 2, hash: hashOfSettings({}) }))],
    [
      "settings that are a list",
      answerWith(200, JSON.stringify({ generation: 2, hash: hashOfSettings([]), settings: [] })),
    ],
    ["an error", answerWith(500, "oops")],
    ["a redirect to nowhere", answerWith(302, "", { location: "http://127.0.0.1:9/" })],
    ["a refused key", answerWith(401)],
    ["a missing scope", answerWith(403)],
    ["no answer at all", neverAnswer],
    ["a body without an end", answerWith(200, "x".repeat(2_000_000))],
    [
      "a nest without an end",
      answerWith(
        200,
        `{"generation":2,"hash":"${"0".repeat(64)}","settings":{"a":${"[".repeat(1e5)}${"]".repeat(1e5)}}}`,
      ),
    ],
  ])("%s", async (_, fault) => {
    t.server.save(good);
    const { source, ceiling, troubles } = client({ timeoutMs: 100 });
    await until(() => source.generation === 1 && t.server.streams.size === 1);
    t.server.fault = fault;
    t.server.notice(2);
    await until(() => troubles.length > 0);
    expect(ceiling()).toBe("50%");
    t.server.fault = undefined;
    t.server.save({ thresholds: { ceiling: "45%" } }, 3);
    await until(() => ceiling() === "45%");
    expect(statuses()).toEqual(expect.arrayContaining([[1, "applied", undefined]]));
  });

  it("is asked for again soon, also while the stream is open and says nothing", async () => {
    t.server.save(good);
    t.server.faults = [answerWith(200, "{}"), answerWith(200, whole.slice(0, -20))];
    const { source } = client({ pollMs: 1e6 });
    await until(() => source.generation === 1);
  });

  it("a wrong hash is refused with its code, and the right answer is taken later", async () => {
    t.server.save(good);
    const { source } = client();
    await until(() => source.generation === 1);
    const wrong = JSON.parse(whole) as { hash: string };
    t.server.fault = answerWith(200, JSON.stringify({ ...wrong, hash: hashOfSettings({}) }));
    t.server.notice(2);
    await until(() => t.server.acks.some(({ code }) => code === "wrong_hash"));
    t.server.fault = undefined;
    t.server.save(good, 2);
    await until(() => source.generation === 2);
    expect(t.server.acks.filter(({ code }) => code === "wrong_hash")).toHaveLength(1);
  });

  it("a spoiled copy of the policy in force is not acknowledged as refused", async () => {
    t.server.save(good);
    const { source, troubles } = client();
    await until(() => source.generation === 1 && t.server.acks.length === 1);
    t.server.fault = answerWith(200, policyBody(1, good).replace("50%", "51%"));
    await source.check();
    await until(() => troubles.some((one) => one.includes("hash")));
    expect(statuses()).toEqual([[1, "applied", undefined]]);
  });

  it("a generation that goes back is ignored until the whole history stayed behind", async () => {
    t.server.save(good, 5);
    const { source } = client({ restoredMs: 150 });
    await until(() => source.generation === 5);
    t.server.newest = 5;
    t.server.save({ thresholds: { ceiling: "20%" } }, 3);
    await source.check();
    // Longer than `restoredMs`, which must not count while the server says that it has a newer version.
    await new Promise((resolve) => setTimeout(resolve, 250));
    await source.check();
    expect(source.generation).toBe(5);
    t.server.newest = undefined;
    await source.check();
    expect(source.generation).toBe(5);
    await until(async () => {
      await source.check();
      return source.generation === 3;
    });
  });
});

describe("the server's refusals", () => {
  it("a rotated key is used at once when the next try comes", async () => {
    let key = "old";
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source, troubles } = client({ key: () => key });
    await until(() => troubles.some((one) => one.includes("401")));
    key = POLICY_KEY;
    await until(() => source.generation === 1);
  });

  it.each([403, 400])("are passed on in the server's own words: %d", async (status) => {
    const refusal = { error: { code: "forbidden", message: "Ask for the scope policy:read." } };
    t.server.faults = [answerWith(status, JSON.stringify(refusal))];
    const { troubles } = client();
    await until(() => troubles.length > 0);
    expect(troubles[0]).toContain(`HTTP ${status}: Ask for the scope policy:read`);
  });

  it("Retry-After is honoured, also by what the stream says", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    t.server.faults = [answerWith(429, "", { "retry-after": "0.4" })];
    const began = performance.now();
    const { source } = client();
    await until(() => source.generation === 1);
    expect(performance.now() - began).toBeGreaterThan(390);
    expect(t.server.asked).toHaveLength(2);
  });

  it("a server that is away is tried again, and the harness's own policy holds meanwhile", async () => {
    const url = t.server.url;
    await t.server.close();
    const { guard, source, troubles } = client({ url }, { thresholds: { ceiling: "66%" } });
    await until(() => troubles.length > 0);
    const prepared = await fit(guard.conversation(), [{ role: "user", content: "Hello" }]);
    expect(prepared.messages).toHaveLength(1);
    expect(source.settings.thresholds?.ceiling).toBe("66%");
    t.server = new PolicyServer();
    t.server.save({ thresholds: { ceiling: "50%" } });
    await t.server.start(Number(new URL(url).port));
    await until(() => source.generation === 1);
  });
});
