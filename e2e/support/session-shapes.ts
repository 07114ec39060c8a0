import { seededRandom } from "../../examples/large-fleet/random.ts";
import { EventBuilder } from "./event-builder.ts";

/** Sessions of unusual shapes, as events of their harness. */

const MINUTE = 60_000;
const WINDOW = 200_000;
const KINDS = ["masked", "compacted", "unexplained", "subtick", "restarted"] as const;

/** A session with this many turns and falls, evenly spread. */
export function manyFalls(harness: string, turns = 1_000, falls = 200): EventBuilder {
  const builder = new EventBuilder({
    harness,
    session: "many-falls",
    window: WINDOW,
    start: Date.now() - turns * 3_000 - 5 * MINUTE,
    pace: 1_200,
  }).event("session", { status: "started", kind: "loop", title: `${turns} turns with ${falls} falls` });
  const random = seededRandom(12);
  const every = Math.floor(turns / falls);
  let level = 12_000;
  let fallen = 0;
  for (let turn = 1; turn <= turns; turn += 1) {
    builder.turn(level, { duration_ms: 800 + Math.round(random() * 6_000), cost_usd: 0.0021 });
    level += 2_000 + Math.round(random() * 9_000);
    if (turn % every !== 0 || fallen === falls) continue;
    const kind = KINDS[fallen % KINDS.length]!;
    const after = 6_000 + Math.round(random() * level * 0.5);
    fallen += 1;
    if (kind === "masked")
      builder.event("masked", {
        observations: 3,
        tokens_before: level,
        tokens_after: after,
        tools: ["bash"],
      });
    else if (kind === "compacted")
      builder.event("compacted", { trigger: "auto", tokens_before: level, tokens_after: after });
    else if (kind === "subtick")
      builder.event("subtick", {
        loop: "7c1e",
        tick: fallen,
        sub: 1,
        tokens_before: level,
        handoff_tokens: 2_000,
        reason: "ceiling",
        visible: true,
      });
    else if (kind === "restarted")
      builder.event("restarted", {
        number: fallen,
        previous_turns: 5,
        carryover_turns: 2,
        reason: "requested",
      });
    level = after;
  }
  return builder;
}

/** A main agent and sub-agents that work at the same time. */
export function parallelAgents(harness: string, agents = 12): EventBuilder[] {
  const start = Date.now() - 30 * MINUTE;
  const shared = { harness, session: "parallel", window: WINDOW };
  const main = new EventBuilder({ ...shared, start, pace: MINUTE })
    .event("session", { status: "started", kind: "agent", title: "Audit the repository in parallel" })
    .turns(...Array.from({ length: 24 }, (_, turn) => 14_000 + turn * 1_800));
  const random = seededRandom(5);
  const children = Array.from({ length: agents }, (_, index) => {
    const name = index === 3 ? "reviewer-of-the-very-long-module-name" : `worker-${index + 1}`;
    const child = new EventBuilder({
      ...shared,
      agent: name,
      parent: "main",
      start: start + (2 + index) * MINUTE,
      pace: 25_000,
    });
    let level = 5_000;
    for (let turn = 0; turn < 12 + index; turn += 1) {
      child.turn(level);
      level += 2_000 + Math.round(random() * 8_000);
      if (turn % 7 === 6 && index % 2 === 0) {
        child.event("masked", { observations: 4, tokens_before: level, tokens_after: Math.round(level / 2) });
        level = Math.round(level / 2);
      } else if (turn % 9 === 8) level = Math.round(level / 3);
    }
    return child;
  });
  return [main, ...children];
}
