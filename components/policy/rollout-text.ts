import type { RolloutView } from "@plimsoll/protocol/api";
import { harnessesIn } from "@plimsoll/protocol/pure";
import { exact, plural } from "../format.ts";

const HALTED: Readonly<Record<NonNullable<RolloutView["halt_reason"]>, string>> = {
  rejected: "a harness rejected it",
  more_restarts: "harnesses restart more often since they run it",
  more_crossings: "harnesses cross their other thresholds more often since they run it",
  asked: "somebody halted it",
};

/** Why a rollout was halted, in a few words. */
export const haltText = (reason: RolloutView["halt_reason"]) => (reason === null ? "" : HALTED[reason]);

/** 0.125 as 12.5%. */
const shareText = (share: number) => `${Math.round(share * 1_000) / 10}%`;

/** Whom a stage offers the version. */
export function stageText({ share, harnesses }: RolloutView["stages"][number]): string {
  if (share >= 1) return "all harnesses";
  const named =
    harnesses.length <= 2
      ? harnesses.join(" and ")
      : plural(harnesses.length, "named harness", "named harnesses");
  if (harnesses.length === 0) return `${shareText(share)} of the harnesses`;
  return share === 0 ? named : `${shareText(share)} of the harnesses and ${named}`;
}

/** How many harnesses a share is, before the version is saved: `5 of 20 connected harnesses`. */
export function reachText(share: number, connected: number): string {
  if (connected === 0) return "No harness is connected. The first step waits for one.";
  return `${exact(harnessesIn(share, connected))} of ${plural(connected, "connected harness", "connected harnesses")} first.`;
}

/** How many harnesses are offered a version, and how many of them run it. */
export function progressText({ connected, offered, applied }: RolloutView): string {
  if (offered === 0) return "No harness that is offered it is connected.";
  return `${exact(offered)} of ${plural(connected, "connected harness", "connected harnesses")}, ${exact(applied)} of them ${applied === 1 ? "runs" : "run"} it.`;
}

/** What a step waits for that time alone does not bring. */
export const WAITS: Readonly<Record<Exclude<NonNullable<RolloutView["waits_for"]>, "bake">, string>> = {
  application: "The next step waits until one of this step's harnesses has applied it.",
  harness: "The next step waits until one of this step's harnesses is connected.",
  next_set: "All harnesses of this step rejected it, so nobody is left to apply it.",
};

/** Whether each harness of the step rejected the version: then only another version or other harnesses lead on. */
export const isRefused = ({ own }: Pick<RolloutView, "own">): boolean =>
  own.connected > 0 && own.rejected === own.connected;

/** Events in turns, before and since: `12 restarts in 200 turns, 2 in 100 before`. */
export function riseText(name: "restart" | "crossing", { before, since }: RolloutView["restarts"]): string {
  const now = `${plural(since.events, name)} in ${plural(since.turns, "turn")}`;
  return before.turns === 0 ? now : `${now}, ${exact(before.events)} in ${exact(before.turns)} before`;
}

const UNITS = [
  { seconds: 86_400, name: "day" },
  { seconds: 3_600, name: "hour" },
  { seconds: 60, name: "minute" },
] as const;

/** A whole length of time: `10 minutes`. */
export function lengthText(seconds: number): string {
  const unit = UNITS.find((one) => seconds % one.seconds === 0);
  return unit === undefined ? plural(seconds, "second") : plural(seconds / unit.seconds, unit.name);
}
