import { describe, expect, it } from "vitest";
import { policyTests } from "../testing/policy-client.ts";
import { until } from "../testing/until.ts";

const t = policyTests();
const { client, statuses } = t;

describe("the harness's own limits", () => {
  const bounds = { "thresholds.ceiling": { min: "20%", max: "60%" } };

  it("a value out of bounds refuses the whole policy, and is not tried again", async () => {
    t.server.save({ thresholds: { ceiling: "95%", soft: "30%" } });
    const { source, guard } = client({ bounds });
    await until(() => t.server.acks.length === 1);
    expect(t.server.acks[0]).toMatchObject({ status: "rejected", code: "out_of_bounds", generation: 1 });
    expect(t.server.acks[0]!.message).toContain('thresholds.ceiling: "95%"');
    expect(t.server.acks[0]!.message).toContain('"60%"');
    await source.check();
    await source.check();
    expect(guard.policy).toEqual({});
    expect(t.server.acks).toHaveLength(1);
    expect(source.refused).toMatchObject({ generation: 1, code: "out_of_bounds" });
    t.server.save({ thresholds: { ceiling: "50%" } });
    await until(() => source.generation === 2);
    expect(source.refused).toBeUndefined();
  });

  it("or is clamped and reported with both numbers", async () => {
    t.server.save({ thresholds: { ceiling: "95%" } });
    const { ceiling } = client({ bounds, onOutOfBounds: "clamp" });
    await until(() => t.server.acks.length === 1);
    expect(ceiling()).toBe("60%");
    expect(t.server.acks[0]).toMatchObject({
      status: "overridden",
      effective: { thresholds: { ceiling: "60%" } },
      differences: [{ path: "thresholds.ceiling", code: "clamped", wanted: "95%", effective: "60%" }],
    });
  });

  it("what is not allowed or not known is named, and the rest applies", async () => {
    t.server.save({
      enforcement: "warn_only",
      thresholds: { ceiling: "50%" },
      split: { files: 4 },
      mood: "good",
    });
    const { guard } = client({ allow: ["thresholds"] });
    await until(() => t.server.acks.length === 1);
    expect(guard.policy).toEqual({ thresholds: { ceiling: "50%" } });
    expect(t.server.acks[0]).toMatchObject({
      status: "overridden",
      effective: { enforcement: "enforce" },
      differences: [
        { path: "enforcement", code: "not_allowed", wanted: "warn_only", effective: "enforce" },
        { path: "split.files", code: "unsupported", wanted: 4 },
        { path: "mood", code: "unsupported", wanted: "good" },
      ],
    });
  });

  it("a setting that the harness obeys itself is in force and no difference", async () => {
    t.server.save({ loop: { max_context_pct: 12 } });
    const { source } = client({ handles: ["loop.max_context_pct"] });
    await until(() => t.server.acks.length === 1);
    expect(t.server.acks[0]).toMatchObject({
      status: "applied",
      effective: { loop: { max_context_pct: 12 } },
    });
    expect(source.settings.loop?.max_context_pct).toBe(12);
  });

  it("an invalid value refuses the policy and names the field", async () => {
    t.server.save({ masking: { keep_turns: -1 } });
    client();
    await until(() => t.server.acks.length === 1);
    expect(t.server.acks[0]).toMatchObject({ status: "rejected", code: "invalid" });
    expect(t.server.acks[0]!.message).toContain("masking.keep_turns: -1");
  });
});

describe("a harness that turns unhealthy after a change", () => {
  it.each([
    ["says so", () => false],
    ["throws", () => Promise.reject(new Error("broken"))],
    ["does not answer", () => new Promise<boolean>(() => {})],
  ])("takes the policy back when it %s", async (_, sick) => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    let healthy: () => boolean | Promise<boolean> = () => true;
    const { source, ceiling } = client({ healthy: () => healthy(), healthMs: 60 });
    await until(() => source.generation === 1);
    // Until the change is no longer watched: only time ends that.
    await new Promise((resolve) => setTimeout(resolve, 120));
    healthy = sick;
    t.server.save({ thresholds: { ceiling: "5%" } });
    await until(() => t.server.acks.some(({ code }) => code === "unhealthy"));
    expect(ceiling()).toBe("50%");
    expect(source.generation).toBe(1);
    await source.check();
    expect(statuses()).toEqual([
      [1, "applied", undefined],
      [2, "applied", undefined],
      [2, "rejected", "unhealthy"],
    ]);
  });

  it("refuses a policy that the guard does not take", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    let refuses = true;
    const target = {
      policy: {},
      changePolicy() {
        if (refuses) throw new Error("not now");
      },
    };
    const { source } = client({ guard: target });
    await until(() => t.server.acks.length === 1);
    expect(t.server.acks[0]).toMatchObject({ status: "rejected", code: "apply_failed", message: "not now" });
    refuses = false;
    t.server.save({ thresholds: { ceiling: "51%" } });
    await until(() => source.generation === 2);
  });

  it("takes a policy back that it is told failed, also without a check of health, and starts from the one before", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source, ceiling } = client({ healthMs: 60_000 });
    await until(() => source.generation === 1);
    t.server.save({ thresholds: { ceiling: "5%" } });
    await until(() => source.generation === 2);
    await source.failed(new Error("every call is refused"));
    expect([ceiling(), source.generation]).toEqual(["50%", 1]);
    expect(source.refused).toMatchObject({
      generation: 2,
      code: "unhealthy",
      message: "The harness failed: every call is refused",
    });
    await source.check();
    expect(source.generation).toBe(1);
    // It stays with what has proved good.
    await source.failed(new Error("again"));
    expect(source.generation).toBe(1);
  });

  it("keeps a policy that has held for long enough, whatever fails later", async () => {
    t.server.save({ thresholds: { ceiling: "50%" } });
    const { source } = client({ healthMs: 0 });
    await until(() => source.generation === 1);
    await source.failed(new Error("something else"));
    expect(source.generation).toBe(1);
  });
});
