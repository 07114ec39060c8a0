import type { PolicyAckEvent } from "@plimsoll/protocol/events";
import {
  type PolicySettings,
  type PolicyVersion,
  resolveForHarness,
  THRESHOLD_NAMES,
  type ThresholdName,
  type ThresholdSource,
  type Thresholds,
  type ThresholdValue,
  versionFor,
} from "@plimsoll/protocol/pure";

/** What a harness said of a policy. `at` in epoch ms. */
export interface Acknowledgement {
  id: string;
  at: number;
  generation: number;
  status: PolicyAckEvent["status"];
  /** Settings in force that differ from the policy. Of `written`, those of the sessions that began since. */
  effective?: PolicySettings | undefined;
}

/** The thresholds of an agent at a time. */
export interface InForce {
  thresholds: Thresholds;
  sources: Readonly<Record<ThresholdName, ThresholdSource>>;
  /** Of the policy that the harness acknowledged, else of the policy of that time. 0 without a policy. */
  generation: number;
}

/** The thresholds of the agents of one harness by time and model. Times in epoch ms. */
export interface ThresholdTimeline {
  /** Returns the same object for every time between two changes. */
  at(time: number, model: string | undefined): InForce;
  /** When something changed, oldest first. */
  readonly changes: readonly number[];
}

/** The same thresholds at all times. */
export function constantTimeline(thresholds: Thresholds): ThresholdTimeline {
  const inForce: InForce = { thresholds, sources: sourcesOf(() => "default"), generation: 0 };
  return { changes: [], at: () => inForce };
}

/**
 * The thresholds of a harness: those it acknowledged, from the time of the acknowledgement; before, those of the policy at the
 * time. The defaults fill the gaps.
 * @param versions by generation
 */
export function thresholdTimeline(
  harness: string,
  versions: readonly PolicyVersion[],
  acknowledgements: readonly Acknowledgement[],
  defaults: PolicySettings,
): ThresholdTimeline {
  const spans = spansOf(harness, versions, acknowledgements);
  let last = spans.at(-1)!;
  return {
    changes: spans.slice(1).map(({ from }) => from),
    at(time, model) {
      if (time < last.from || time >= last.to) last = spanAt(spans, time);
      let inForce = last.byModel.get(model);
      if (inForce === undefined) {
        inForce = inForceOf(harness, model, last, defaults);
        // Bounded, because senders choose the names of models.
        if (last.byModel.size < MOST_MODELS) last.byModel.set(model, inForce);
      }
      return inForce;
    },
  };
}

const MOST_MODELS = 1_000;

/** A period without changes. */
interface Span {
  from: number;
  to: number;
  /** The version offered in this period. */
  version: PolicyVersion | undefined;
  acknowledged: Accepted | undefined;
  byModel: Map<string | undefined, InForce>;
}

/** A policy that the harness runs. */
interface Accepted {
  version: PolicyVersion | undefined;
  generation: number;
  effective: PolicySettings | undefined;
}

function spansOf(
  harness: string,
  versions: readonly PolicyVersion[],
  acknowledgements: readonly Acknowledgement[],
): Span[] {
  const ordered = [...acknowledgements].sort(
    (one, other) => one.at - other.at || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0),
  );
  const times = new Set([Number.NEGATIVE_INFINITY]);
  for (const { steps } of versions) for (const { at } of steps) times.add(at);
  for (const { at } of ordered) times.add(at);
  const spans: Span[] = [];
  let accepted: readonly Accepted[] = [];
  let next = 0;
  for (const from of [...times].sort((one, other) => one - other)) {
    while (next < ordered.length && ordered[next]!.at <= from) {
      accepted = afterAck(accepted, ordered[next]!, versions);
      next += 1;
    }
    const version = versionFor(versions, harness, from);
    const acknowledged = accepted.at(-1);
    const previous = spans.at(-1);
    if (previous !== undefined) {
      if (previous.version === version && previous.acknowledged === acknowledged) continue;
      previous.to = from;
    }
    spans.push({ from, to: Number.POSITIVE_INFINITY, version, acknowledged, byModel: new Map() });
  }
  return spans;
}

/** Rejecting a policy that was applied returns to the one before. */
function afterAck(
  accepted: readonly Accepted[],
  { status, generation, effective }: Acknowledgement,
  versions: readonly PolicyVersion[],
): readonly Accepted[] {
  // Sessions that run keep the line that they began with.
  if (status === "received" || (status === "written" && effective === undefined)) return accepted;
  const others = accepted.filter((one) => one.generation !== generation);
  if (status === "rejected") return others.length === accepted.length ? accepted : others;
  const version = versions.find((one) => one.generation === generation);
  if (version === undefined && effective === undefined) return accepted;
  const latest = accepted.at(-1);
  // A repeated acknowledgement changes nothing.
  if (latest?.generation === generation && sameSettings(latest.effective, effective)) return accepted;
  return [...others, { version, generation, effective }];
}

const sameSettings = (one: PolicySettings | undefined, other: PolicySettings | undefined) =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

function spanAt(spans: readonly Span[], time: number): Span {
  let low = 0;
  let high = spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (spans[middle]!.from <= time) low = middle;
    else high = middle - 1;
  }
  return spans[low]!;
}

function inForceOf(
  harness: string,
  model: string | undefined,
  { version, acknowledged }: Pick<Span, "version" | "acknowledged">,
  defaults: PolicySettings,
): InForce {
  const thresholdsOf = (from: PolicyVersion | undefined) =>
    from === undefined
      ? {}
      : (resolveForHarness(from.body, { harness, model }, {}).settings.thresholds ?? {});
  const layers: [ThresholdSource, NonNullable<PolicySettings["thresholds"]>][] = [
    ["acknowledged", acknowledged?.effective?.thresholds ?? {}],
    ["acknowledged", thresholdsOf(acknowledged?.version)],
    // Not for a harness that runs another version.
    ["policy", acknowledged === undefined ? thresholdsOf(version) : {}],
    ["default", defaults.thresholds ?? {}],
  ];
  const found = new Map<ThresholdName, { value: ThresholdValue; source: ThresholdSource }>();
  for (const name of THRESHOLD_NAMES) {
    const layer = layers.find(([, thresholds]) => thresholds[name] !== undefined);
    found.set(name, { value: layer?.[1][name] ?? null, source: layer?.[0] ?? "default" });
  }
  return {
    thresholds: Object.fromEntries(
      [...found].map(([name, { value }]) => [name, value]),
    ) as unknown as Thresholds,
    sources: sourcesOf((name) => found.get(name)!.source),
    generation: acknowledged?.generation ?? version?.generation ?? 0,
  };
}

function sourcesOf(of: (name: ThresholdName) => ThresholdSource): InForce["sources"] {
  return Object.fromEntries(THRESHOLD_NAMES.map((name) => [name, of(name)])) as InForce["sources"];
}
