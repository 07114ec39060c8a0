import { type ThresholdTimeline, thresholdTimeline } from "@plimsoll/fold";
import { familyDefaults } from "@plimsoll/harnesses/lines";
import type { PolicyAnswer, WholePolicy } from "@plimsoll/protocol/api";
import {
  type PolicyBody,
  type PolicyVersion,
  type RolloutStep,
  resolveForHarness,
  versionFor,
} from "@plimsoll/protocol/policy";
import { LRUCache } from "lru-cache";
import type { Sql } from "../db/sql.ts";
import type { HarnessAcks } from "./acknowledgements.ts";
import { hashOf } from "./hash.ts";

/** A step of the project's policy with its number. */
interface StepRow extends RolloutStep {
  revision: number;
  generation: number;
}

/** Only the newest text is asked for. */
const VERSIONS = `
SELECT generation, body, CASE WHEN lead(generation) OVER (ORDER BY generation) IS NULL THEN text END AS text
FROM policy_versions WHERE project_id = $1 ORDER BY generation`;
const STEPS = `
SELECT revision, generation, (extract(epoch FROM at) * 1000)::float8 AS at, share, harnesses
FROM policy_steps WHERE project_id = $1 ORDER BY revision`;

/** Harnesses whose timelines are remembered. */
const REMEMBERED = 10_000;

const NO_VERSION: PolicyVersion = { generation: 0, body: { settings: {}, layers: [] }, steps: [] };
const NO_POLICY: PolicyAnswer = { generation: 0, hash: hashOf({}), settings: {} };

/** All versions of a project's policy at one moment, and what follows from them. */
export class PolicyBook {
  readonly versions: readonly PolicyVersion[];
  readonly #steps: readonly StepRow[];
  readonly #timelines = new LRUCache<string, { acks: HarnessAcks["acks"]; timeline: ThresholdTimeline }>({
    max: REMEMBERED,
  });

  readonly #answers = new LRUCache<string, PolicyAnswer>({ max: REMEMBERED });

  #whole: WholePolicy | undefined;

  readonly #text: string | null;

  private constructor(versions: readonly PolicyVersion[], steps: readonly StepRow[], text: string | null) {
    this.versions = versions;
    this.#steps = steps;
    this.#text = text;
  }

  static readonly empty = new PolicyBook([], [], null);

  static async read(sql: Pick<Sql, "query">, projectId: number): Promise<PolicyBook> {
    const steps = await sql.query<StepRow>(STEPS, projectId);
    // After the steps, so that every step has its version.
    const versions = await sql.query<{ generation: number; body: PolicyBody; text: string | null }>(
      VERSIONS,
      projectId,
    );
    return new PolicyBook(
      versions.map(({ generation, body }) => ({
        generation,
        body,
        steps: steps
          .filter((step) => step.generation === generation)
          .sort((one, other) => one.at - other.at || one.revision - other.revision),
      })),
      steps,
      versions.at(-1)?.text ?? null,
    );
  }

  /** The number of the newest step; 0 while there is none. */
  get revision(): number {
    return this.#steps.at(-1)?.revision ?? 0;
  }

  /** The newest generation; 0 without a policy. */
  get generation(): number {
    return this.versions.at(-1)?.generation ?? 0;
  }

  /** The step of a number; undefined if this process has not read it. */
  stepAt(revision: number): RolloutStep | undefined {
    return this.#steps.find((step) => step.revision === revision);
  }

  /** The earliest time (epoch ms) from which the steps after a revision change something; undefined if there are none. */
  changedSince(revision: number): number | undefined {
    const times = this.#steps.filter((step) => step.revision > revision).map(({ at }) => at);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The newest version as a whole. */
  whole(): WholePolicy {
    const { generation, body: policy } = this.versions.at(-1) ?? NO_VERSION;
    this.#whole ??= { generation, hash: hashOf(policy), policy, text: this.#text };
    return this.#whole;
  }

  /**
   * The policy that a harness is offered, by the newest steps: none of them is planned for later, and a clock that is behind must not
   * hide one. Cached by harness and model.
   */
  answerFor(harness: string, model: string | undefined): PolicyAnswer {
    const version = versionFor(this.versions, harness, Number.POSITIVE_INFINITY);
    // Generation 0 holds the thresholds from before policies existed.
    if (version === undefined || version.generation === 0) return NO_POLICY;
    return this.#answerOf(version, harness, model);
  }

  #answerOf(version: PolicyVersion, harness: string, model: string | undefined): PolicyAnswer {
    const key = JSON.stringify([version.generation, harness, model]);
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      const { settings } = resolveForHarness(version.body, { harness, model }, {});
      answer = { generation: version.generation, hash: hashOf(settings), settings };
      this.#answers.set(key, answer);
    }
    return answer;
  }

  /**
   * Whether a hash is that of the settings which a generation has for a harness, without a model or with one of these. Also true of a
   * generation that this process has not read.
   */
  hasHash(generation: number, hash: string, harness: string, models: readonly string[]): boolean {
    const version = this.versions.find((one) => one.generation === generation);
    if (version === undefined) return true;
    const isOf = (model: string | undefined) => this.#answerOf(version, harness, model).hash === hash;
    if (isOf(undefined)) return true;
    return version.body.layers.some(({ scope }) => scope.model !== undefined) && models.some(isOf);
  }

  /** The newest version before a generation that all harnesses were offered; generation 0 if there is none. */
  previous(generation: number): PolicyVersion {
    const isEarlier = (version: PolicyVersion) =>
      version.generation < generation && version.steps.at(-1)?.share === 1;
    return this.versions.findLast(isEarlier) ?? NO_VERSION;
  }

  /** The content of a generation; undefined if this process has not read it. */
  bodyOf(generation: number): PolicyBody | undefined {
    return this.versions.find((version) => version.generation === generation)?.body;
  }

  /**
   * The thresholds of a harness over time.
   * @param acks pass the same array while it is unchanged; it identifies the cached timeline
   */
  timelineOf(harness: string, acks: HarnessAcks["acks"]): ThresholdTimeline {
    const known = this.#timelines.get(harness);
    if (known?.acks === acks) return known.timeline;
    const timeline = thresholdTimeline(harness, this.versions, acks, familyDefaults(harness));
    this.#timelines.set(harness, { acks, timeline });
    return timeline;
  }
}
