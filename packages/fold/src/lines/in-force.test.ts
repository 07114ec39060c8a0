import {
  type PolicySettings,
  type PolicyVersion,
  type RolloutStep,
  versionFor,
} from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldAgent } from "../history/fold.ts";
import { OPTIONS, report, turn } from "../history/testing/agent-history.ts";
import { type Acknowledgement, constantTimeline, thresholdTimeline } from "./in-force.ts";

const DEFAULTS: PolicySettings = { thresholds: { hard: "100%", warning: "80%" } };
const timelineOf = (harness: string, versions: PolicyVersion[], acks: Acknowledgement[]) =>
  thresholdTimeline(harness, versions, acks, DEFAULTS);

const ALL = { share: 1, harnesses: [] };

function version(
  generation: number,
  at: number,
  thresholds: PolicySettings["thresholds"],
  more: { layers?: PolicyVersion["body"]["layers"]; steps?: RolloutStep[] } = {},
): PolicyVersion {
  return {
    generation,
    body: { settings: { thresholds }, layers: more.layers ?? [] },
    steps: more.steps ?? [{ at, ...ALL }],
  };
}

const ack = (
  at: number,
  generation: number,
  status: Acknowledgement["status"] = "applied",
  effective?: PolicySettings,
): Acknowledgement => ({ id: `${at}/${generation}/${status}`, at, generation, status, effective });

const ceilings = (timeline: ReturnType<typeof thresholdTimeline>, ...times: number[]) =>
  times.map((time) => timeline.at(time, "m").thresholds.ceiling);

describe("the thresholds in force", () => {
  const versions = [version(1, 100, { ceiling: "30%" }), version(2, 200, { ceiling: "40%" })];

  it("are those of the policy of the time for a harness that acknowledges nothing", () => {
    const timeline = timelineOf("mine@1", versions, []);
    expect(ceilings(timeline, 99, 100, 199, 200, 1_000)).toEqual([null, "30%", "30%", "40%", "40%"]);
    expect(timeline.at(150, "m")).toMatchObject({
      generation: 1,
      sources: { ceiling: "policy", hard: "default" },
      thresholds: { hard: "100%" },
    });
    expect(timeline.changes).toEqual([100, 200]);
  });

  it("change when the harness acknowledges, not when the policy does", () => {
    const timeline = timelineOf("mine@1", versions, [ack(150, 1), ack(250, 2)]);
    expect(ceilings(timeline, 120, 150, 200, 249, 250)).toEqual(["30%", "30%", "30%", "30%", "40%"]);
    expect(timeline.at(220, "m")).toMatchObject({ generation: 1, sources: { ceiling: "acknowledged" } });
  });

  it("stay when a harness has only received a policy, or rejects it", () => {
    for (const status of ["received", "rejected"] as const) {
      const timeline = timelineOf("mine@1", versions, [ack(150, 1), ack(250, 2, status)]);
      expect(ceilings(timeline, 300)).toEqual(["30%"]);
    }
  });

  it("go back to those of before when a harness rejects what it had applied", () => {
    const timeline = timelineOf("mine@1", versions, [ack(150, 1), ack(250, 2), ack(300, 2, "rejected")]);
    expect(ceilings(timeline, 260, 299, 300)).toEqual(["40%", "40%", "30%"]);
  });

  it("are what the harness says where it runs other values than the policy", () => {
    const effective = { thresholds: { ceiling: 67_000 } };
    const timeline = timelineOf("mine@1", versions, [ack(250, 2, "overridden", effective)]);
    expect(ceilings(timeline, 250)).toEqual([67_000]);
    expect(timeline.at(250, "m").thresholds.warning).toBe("80%");
  });

  it("know the effective values of a generation that this server does not have", () => {
    const acks = [ack(250, 9), ack(260, 9, "overridden", { thresholds: { ceiling: 1_000 } })];
    expect(ceilings(timelineOf("mine@1", versions, acks), 250, 260)).toEqual(["40%", 1_000]);
  });

  it("are those that sessions began with after the policy was written, and stay until one begins", () => {
    const effective = { thresholds: { ceiling: "50%" } } as const;
    const written = timelineOf("mine@1", versions, [ack(150, 1), ack(250, 2, "written")]);
    expect(ceilings(written, 150, 260)).toEqual(
      ceilings(timelineOf("mine@1", versions, [ack(150, 1)]), 150, 260),
    );
    const begun = [ack(150, 1), ack(250, 2, "written"), ack(270, 2, "written", effective)];
    const timeline = timelineOf("mine@1", versions, begun);
    expect(ceilings(timeline, 270)).toEqual(["50%"]);
    expect(timeline.at(270, "m")).toMatchObject({ generation: 2, sources: { ceiling: "acknowledged" } });
    // The proof changes nothing but the settings that it names.
    const shown = timelineOf("mine@1", versions, [...begun, ack(280, 2)]);
    expect(shown.at(290, "m").generation).toBe(2);
  });

  it("differ by the model of a turn where a layer names models", () => {
    const layers = [{ scope: { model: "claude-*" }, settings: { thresholds: { ceiling: 50_000 } } }];
    const timeline = timelineOf("mine@1", [version(1, 0, { ceiling: "30%" }, { layers })], []);
    expect(timeline.at(1, "claude-opus-5").thresholds.ceiling).toBe(50_000);
    expect(timeline.at(1, "gpt-5").thresholds.ceiling).toBe("30%");
    expect(timeline.at(1, undefined).thresholds.ceiling).toBe("30%");
  });

  it("are one object between two changes, so that they are worked out once", () => {
    const timeline = timelineOf("mine@1", versions, [ack(250, 2)]);
    expect(timeline.at(260, "m")).toBe(timeline.at(900, "m"));
    expect(timeline.at(100, "m")).not.toBe(timeline.at(260, "m"));
    expect(timeline.at(100, "m")).toBe(timeline.at(199, "m"));
  });

  it("do not depend on the order in which acknowledgements arrive, nor on the order of questions", () => {
    const acks = [ack(150, 1), ack(210, 2), ack(230, 2, "rejected"), ack(240, 1), ack(250, 2)];
    const times = [90, 149, 150, 205, 212, 231, 245, 260];
    const expected = ceilings(timelineOf("mine@1", versions, acks), ...times);
    fc.assert(
      fc.property(
        fc.shuffledSubarray(acks, { minLength: acks.length }),
        fc.shuffledSubarray(times, { minLength: times.length }),
        (arrived, asked) => {
          const timeline = timelineOf("mine@1", versions, arrived);
          ceilings(timeline, ...asked);
          expect(ceilings(timeline, ...times)).toEqual(expected);
        },
      ),
    );
  });

  it("reach into the past when a policy is applied to it", () => {
    const past = version(3, 400, { ceiling: "50%" }, { steps: [{ at: Number.NEGATIVE_INFINITY, ...ALL }] });
    expect(ceilings(timelineOf("mine@1", [...versions, past], []), 0, 150, 500)).toEqual([
      "50%",
      "50%",
      "50%",
    ]);
  });
});

describe("a rollout", () => {
  const harnesses = Array.from({ length: 2_000 }, (_, index) => `worker@vm-${index}`);
  const reached = (share: number) => {
    const versions = [
      version(1, 0, {}),
      version(2, 0, {}, { steps: [{ at: 10, share, harnesses: ["worker@a"] }] }),
    ];
    return harnesses.filter((harness) => versionFor(versions, harness, 20)?.generation === 2);
  };

  it("reaches about its share of the harnesses, and the same ones with every larger share", () => {
    const tenth = reached(0.1);
    expect(tenth.length).toBeGreaterThan(150);
    expect(tenth.length).toBeLessThan(250);
    const half = new Set(reached(0.5));
    expect(tenth.every((harness) => half.has(harness))).toBe(true);
    expect(reached(1)).toHaveLength(harnesses.length);
    expect(reached(0)).toEqual([]);
  });

  it("begins with the harnesses it names, and is over for all when it is halted", () => {
    const steps = [
      { at: 10, share: 0, harnesses: ["worker@a"] },
      { at: 20, share: 0.5, harnesses: ["worker@a"] },
      { at: 30, share: 0, harnesses: [] },
    ];
    const versions = [version(1, 0, {}), version(2, 0, {}, { steps })];
    const generations = (at: number) => versionFor(versions, "worker@a", at)?.generation;
    expect([5, 10, 20, 30].map(generations)).toEqual([1, 2, 2, 1]);
  });
});

describe("an agent whose harness acknowledges nothing", () => {
  const window = { sentLimit: 1_000 };
  const options = {
    ...OPTIONS,
    thresholds: constantTimeline({ warning: null, ceiling: "90%", soft: null, hard: null, reserve: null }),
  };
  const crossings = (...args: Parameters<typeof foldAgent>) =>
    [...foldAgent(...args).crossings.values()].map(({ threshold, up, origin, turnKey, thresholdTokens }) => [
      threshold,
      up ? "up" : "down",
      origin,
      turnKey,
      thresholdTokens,
    ]);

  it("is judged by the line that it reported, from then on", () => {
    const turns = [100, 450, 460, 200, 420].map((tokens, at) => turn(`t${at}`, at, tokens, window));
    const reported = report("r1", 1, "ceiling", true, 450, 400);
    expect(crossings(turns, [reported], options)).toEqual([
      ["ceiling", "up", "reported", "t1", 400],
      ["ceiling", "down", "derived", "t3", 400],
      ["ceiling", "up", "derived", "t4", 400],
    ]);
  });

  it("crosses once when its report comes before its turn", () => {
    const turns = [turn("t1", 1, 100, window), turn("t3", 3, 450, window), turn("t4", 4, 470, window)];
    const reported = report("r", 2, "ceiling", true, 450, 400);
    expect(crossings(turns, [reported], options)).toEqual([["ceiling", "up", "both", "t3", 400]]);
  });

  it("crosses once when its harness counts a little differently", () => {
    const turns = [turn("t1", 1, 450, window), turn("t3", 3, 470, window)];
    expect(crossings(turns, [report("r", 2, "ceiling", true, 455, 400)], options)).toEqual([
      ["ceiling", "up", "reported", "t1", 400],
    ]);
  });

  it("is not judged by reports once it acknowledged a policy", () => {
    const acknowledged = timelineOf("mine@1", [version(1, 0, { ceiling: 300 })], [ack(0, 1)]);
    const turns = [turn("t1", 1, 350, window), turn("t3", 3, 360, window)];
    const found = crossings(turns, [report("r", 2, "ceiling", true, 350, 200)], {
      ...OPTIONS,
      thresholds: acknowledged,
    });
    expect(found.filter(([threshold]) => threshold === "ceiling")).toEqual([
      ["ceiling", "up", "both", "t1", 300],
    ]);
  });
});
