import type { PolicyBody } from "./policy-schema.ts";

/** From a time on, a version is offered to a share of the harnesses, and to some by name. */
export interface RolloutStep {
  /** Epoch ms. */
  at: number;
  /** 0 to 1. */
  share: number;
  /** Instances that get it whatever the share. */
  harnesses: readonly string[];
}

/** A version of a project's policy, and to whom it was offered when. */
export interface PolicyVersion {
  generation: number;
  body: PolicyBody;
  /** By time. */
  steps: readonly RolloutStep[];
}

/**
 * The newest version that is offered to a harness at a time (epoch ms).
 * @param versions by generation
 */
export function versionFor(
  versions: readonly PolicyVersion[],
  harness: string,
  at: number,
): PolicyVersion | undefined {
  return versions.findLast((version) => {
    const step = version.steps.findLast((one) => one.at <= at);
    return step !== undefined && isOffered(step, version.generation, harness);
  });
}

/** Whether a step offers a version to a harness. */
export function isOffered(
  { share, harnesses }: Pick<RolloutStep, "share" | "harnesses">,
  generation: number,
  harness: string,
): boolean {
  if (share >= 1) return true;
  return harnesses.includes(harness) || placeOf(generation, harness) < share;
}

/** How many harnesses a share offers a version to: at least one of them, unless only named ones try it. */
export function harnessesIn(share: number, harnesses: number): number {
  if (share === 0) return 0;
  return Math.min(harnesses, Math.max(1, Math.round(share * harnesses)));
}

/** Half the distance of two places that differ. */
const NEXT_TO = 2 ** -33;

/**
 * The share that offers a version to so many of some harnesses: those that are first in line.
 * @param size at most as many as there are harnesses
 * @param wanted taken if it offers it to as many, because it decides for harnesses that come later
 */
export function shareFor(
  generation: number,
  harnesses: readonly string[],
  size: number,
  wanted: number,
): number {
  const places = harnesses.map((harness) => placeOf(generation, harness)).sort((one, other) => one - other);
  const least = size === 0 ? 0 : places[size - 1]! + NEXT_TO;
  return Math.max(least, Math.min(wanted, places[size] ?? 1 - NEXT_TO));
}

/**
 * A harness' place in the order in which it gets a version, 0 to 1. The same everywhere, and another for each version, so that not
 * always the same harnesses try it first.
 */
function placeOf(generation: number, harness: string): number {
  // FNV-1a, and a last mixing: names that differ in their last character must not stand side by side.
  let hash = 0x811c9dc5;
  for (const character of `${generation}/${harness}`) {
    hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
