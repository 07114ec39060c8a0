import { setTimeout as sleep } from "node:timers/promises";
import type { ChangeRolloutCall, RolloutView } from "@plimsoll/protocol/api";
import {
  decideRollout,
  isWatched,
  nextSetSize,
  type Offer,
  type OfferPlace,
  offerOfNextSet,
  offerOfStage,
  type RolloutDecision,
  stagesOf,
  watchedMs,
} from "@plimsoll/protocol/policy";
import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { databaseTime } from "../db/database-clock.ts";
import type { PolicyRollout, Prisma } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import type { FreshnessSource } from "../lines/reader.ts";
import { type Actor, addEntry } from "../tenants/audit/entry.ts";
import { iso } from "../times.ts";
import { type ObservedRollout, observeRollout } from "./observe-rollout.ts";
import type { Policies } from "./policies.ts";
import { addStep, lastStep, nextRevision } from "./policy-steps.ts";
import { planOf } from "./rollout-rows.ts";

export interface RolloutsOptions {
  prisma: PrismaClient;
  policies: Pick<Policies, "bookOf" | "changed">;
  /** Nothing is decided without what harnesses have reported so far. */
  freshness: FreshnessSource;
  log: Logger;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  /** Milliseconds of a clock that cannot be set. */
  elapsed?: () => number;
}

/** Milliseconds between two looks at the rollouts under way. */
const EVERY_MS = 2_000;
/** Two looks that are further apart count as this many milliseconds: the server stood still, or its database was away. */
const MOST_WATCHED_MS = 2 * EVERY_MS;
const MOST_REJECTED = 20;

/**
 * Leads the rollouts of all projects through their stages. Each server does so once it listens. The first one that changes the row of a
 * stage has decided it, so a server that was paused changes nothing.
 */
export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #stop = new AbortController();
  /** The beats of rollouts, and since when (`elapsed`) this server has seen them. By project and generation. */
  #seen = new Map<string, { beat: number; at: number }>();
  #running: Promise<void> | undefined;

  constructor(options: RolloutsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The newest rollout of a project; undefined if none was in stages. */
  async read(projectId: number): Promise<RolloutView | undefined> {
    const row = await this.#options.prisma.policyRollout.findFirst({
      where: { projectId },
      orderBy: { generation: "desc" },
    });
    return row === null ? undefined : this.#view(row);
  }

  /**
   * Advances, halts or resumes a rollout for a person, or offers its version to the next set of harnesses.
   * @throws PlimsollError `not_found`, `conflict` if it has changed since it was seen or there is no next set
   */
  async change(
    projectId: number,
    { generation, stage, action }: ChangeRolloutCall,
    actor: Actor,
  ): Promise<RolloutView> {
    const { prisma } = this.#options;
    const where = { projectId_generation: { projectId, generation } };
    const row = await prisma.policyRollout.findUnique({ where });
    if (row === null)
      throw new PlimsollError("not_found", `Generation ${generation} is not rolled out in stages.`);
    if (!FROM[action].includes(row.state) || row.stage !== stage) throw changedMeanwhile(row);
    if (action === "halt") await this.#halt(row, "asked", actor);
    else if (action === "resume") await this.#resume(row, actor);
    else if (action === "next_set") await this.#offerNextSet(row, actor);
    else await this.#advance(row, row.stage + 1, (await this.#decide(row)).observed.live, actor);
    return this.#view(await prisma.policyRollout.findUniqueOrThrow({ where }));
  }

  /** Looks at every rollout under way once. */
  async look(): Promise<void> {
    const rows = await this.#options.prisma.policyRollout.findMany({ where: { state: "running" } });
    const keys = new Set(rows.map(keyOf));
    this.#seen = new Map([...this.#seen].filter(([key]) => keys.has(key)));
    for (const row of rows) {
      if (this.#stop.signal.aborted) return;
      await this.#go(row).catch((err: unknown) => {
        // Another server, or a person, was first.
        if (err instanceof PlimsollError) return;
        this.#options.log.warn({ err, projectId: row.projectId }, "a rollout could not be looked at");
      });
    }
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.look().catch((err: unknown) => log.warn({ err }, "the rollouts could not be read"));
      await sleep(EVERY_MS, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
    }
  }

  async #go(row: PolicyRollout): Promise<void> {
    const { policies, freshness } = this.#options;
    const lag = await freshness.wait(row.projectId);
    // What is not projected may be a rejection, and a book that is behind says who is offered what in the stage before.
    if (lag.events > 0 || (await policies.bookOf(row.projectId)).revision < row.revision) return;
    const { decision, observed, now } = await this.#decide(row);
    if (decision.type === "halt") return this.#halt(row, decision.reason, { kind: "server" });
    if (decision.type === "advance")
      return this.#advance(row, decision.to, observed.live, { kind: "server" });
    await this.#count(row, isWatched(observed.own) && decision.leftMs > 0, new Date(now));
    if (!observed.hasOwn) await this.#offerAgain(row, observed);
  }

  /**
   * Adds the time since this server saw the row's beat, if no server has raised it since. So the times that several servers add never
   * overlap, and a server that has just started adds none.
   */
  async #count(row: PolicyRollout, counts: boolean, countedAt: Date): Promise<void> {
    const { prisma, elapsed = () => performance.now() } = this.#options;
    const { projectId, generation, stage, beat } = row;
    const at = elapsed();
    const seen = this.#seen.get(keyOf(row));
    this.#seen.set(keyOf(row), { beat, at });
    if (seen?.beat !== beat || !counts) return;
    const { count } = await prisma.policyRollout.updateMany({
      where: { projectId, generation, stage, beat, state: "running" },
      data: {
        bakedMs: { increment: watchedMs(at - seen.at, MOST_WATCHED_MS) },
        countedAt,
        beat: beat + 1,
      },
    });
    if (count === 1) this.#seen.set(keyOf(row), { beat: beat + 1, at });
  }

  async #decide(row: PolicyRollout): Promise<Decided> {
    const { prisma, policies } = this.#options;
    const now = (await databaseTime(prisma)).getTime();
    const observed = await observeRollout(prisma, await policies.bookOf(row.projectId), row, now);
    const rejected = observed.rejected.filter(({ instance }) => !row.forgiven.includes(instance)).length;
    return { decision: decideRollout(planOf(row), row, { ...observed, rejected }), observed, now };
  }

  async #advance(row: PolicyRollout, to: number, live: readonly string[], actor: Actor): Promise<void> {
    const plan = planOf(row);
    const last = stagesOf(plan).length - 1;
    const stage = Math.min(to, last);
    await this.#write(row, {
      actor,
      action: "rollout_advanced",
      detail: `to ${percent(stagesOf(plan)[stage]!.share)} of the harnesses`,
      offer: (place) => offerOfStage(plan, { ...place, stage, live }),
      change: (now) => ({
        stage,
        since: now,
        bakedMs: 0,
        countedAt: null,
        passedRevision: row.revision,
        ...(stage === last && { state: "finished", endedAt: now }),
      }),
    });
  }

  async #halt(row: PolicyRollout, reason: HaltCause, actor: Actor): Promise<void> {
    await this.#write(row, {
      actor,
      action: "rollout_halted",
      detail: HALTED[reason],
      change: () => ({ state: "halted", haltReason: reason }),
    });
  }

  /** What halted it does not halt it again. */
  async #resume(row: PolicyRollout, actor: Actor): Promise<void> {
    const { observed } = await this.#decide(row);
    await this.#write(row, {
      actor,
      action: "rollout_resumed",
      change: (now) => resumed(observed, now),
    });
  }

  async #offerNextSet(row: PolicyRollout, actor: Actor): Promise<void> {
    const plan = planOf(row);
    const { observed } = await this.#decide(row);
    await this.#write(row, {
      actor,
      action: "rollout_next_set",
      offer(place) {
        const all = { ...place, live: observed.live };
        const size = nextSetSize(plan, all);
        if (size === 0) throw new PlimsollError("conflict", NO_NEXT_SET);
        return offerOfNextSet(plan, all);
      },
      change: (now) => resumed(observed, now),
    });
  }

  /** No known harness is of this stage, so that it would wait for ever: chooses again once harnesses are connected. */
  async #offerAgain(row: PolicyRollout, { live, offered }: ObservedRollout): Promise<void> {
    const plan = planOf(row);
    if (stagesOf(plan)[row.stage]!.share === 0 || live.length === offered.length) return;
    await this.#write(row, {
      actor: { kind: "server" },
      offer: (place) => offerOfStage(plan, { ...place, live }),
      change: () => ({}),
    });
  }

  /** @throws PlimsollError `conflict` if the row is no longer the one that was read */
  async #write(row: PolicyRollout, { actor, action, detail, offer, change }: RolloutChange): Promise<void> {
    const { prisma, policies, clock } = this.#options;
    const { projectId, generation, state, stage } = row;
    await prisma.$transaction(async (tx) => {
      // First, because a save takes this lock first as well.
      const revision = await nextRevision(tx, projectId);
      const now = await databaseTime(tx);
      const { count } = await tx.policyRollout.updateMany({
        where: { projectId, generation, state, revision: row.revision },
        data: { ...change(now), revision, beat: { increment: 1 } },
      });
      if (count === 0) throw changedMeanwhile(row);
      const before = (await lastStep(tx, row))!;
      await addStep(tx, {
        projectId,
        revision,
        generation,
        at: now,
        createdAt: now,
        // Without a change of its own, its number still tells every server that something changed.
        offer: offer?.({ generation, stage, before }) ?? before,
      });
      const note = detail === undefined ? {} : { detail };
      if (action !== undefined)
        await addEntry(tx, clock(), {
          actor,
          action,
          projectId,
          target: `generation ${generation}`,
          ...note,
        });
    });
    await policies.changed(projectId);
  }

  async #view(row: PolicyRollout): Promise<RolloutView> {
    const { decision, observed } = await this.#decide(row);
    const book = await this.#options.policies.bookOf(row.projectId);
    const { generation: previous } = book.previous(row.generation);
    const plan = planOf(row);
    const { generation, stage, state } = row;
    const before = book.stepAt(row.revision);
    const waits = state === "running" && decision.type === "wait" ? decision : undefined;
    const isOpen = state === "running" || state === "halted";
    return {
      generation,
      previous: previous === 0 ? null : previous,
      strategy: plan.strategy,
      state: state as RolloutView["state"],
      halt_reason: row.haltReason as RolloutView["halt_reason"],
      stage,
      since: iso(row.since),
      stages: stagesOf(plan).map(({ share, harnesses }) => ({ share, harnesses: [...harnesses] })),
      bake_s: plan.bake_s,
      waits_for: waits?.for ?? null,
      next_at:
        waits?.for === "bake"
          ? iso(wholeSecond((row.countedAt ?? row.since).getTime() + waits.leftMs))
          : null,
      ended_at: row.endedAt === null ? null : iso(row.endedAt),
      connected: observed.live.length,
      offered: observed.offered.length,
      applied: observed.applied.length,
      own: observed.own,
      next_set: isOpen ? nextSetSize(plan, { generation, stage, before, live: observed.live }) : 0,
      rejected: observed.rejected.slice(0, MOST_REJECTED).map(({ instance, said }) => ({
        instance,
        code: said.code ?? null,
        message: said.message ?? null,
      })),
      restarts: observed.restarts,
      crossings: observed.crossings,
    };
  }
}

interface Decided {
  decision: RolloutDecision;
  observed: ObservedRollout;
  /** The database's time, epoch ms. */
  now: number;
}

interface RolloutChange {
  actor: Actor;
  /** For the audit log. */
  action?: "rollout_advanced" | "rollout_halted" | "rollout_resumed" | "rollout_next_set";
  detail?: string;
  /** To whom it offers the version from now on; as before by default. */
  offer?: (place: Omit<OfferPlace, "live">) => Offer;
  change: (now: Date) => Prisma.PolicyRolloutUpdateManyMutationInput;
}

/** In which states each action is possible. */
const FROM: Readonly<Record<ChangeRolloutCall["action"], readonly string[]>> = {
  advance: ["running"],
  halt: ["running"],
  resume: ["halted"],
  next_set: ["running", "halted"],
};

const NO_NEXT_SET =
  "All connected harnesses are offered this version already. Roll it back, or wait until others are connected.";

const keyOf = ({ projectId, generation }: PolicyRollout) => `${projectId}/${generation}`;

const resumed = ({ rejected }: ObservedRollout, now: Date) => ({
  state: "running",
  haltReason: null,
  since: now,
  bakedMs: 0,
  countedAt: null,
  resumedAt: now,
  forgiven: rejected.map(({ instance }) => instance),
});

type HaltCause = NonNullable<RolloutView["halt_reason"]>;

const HALTED = {
  rejected: "a harness rejected it",
  more_restarts: "more restarts",
  more_crossings: "more crossings",
  asked: "asked for",
} as const satisfies Record<HaltCause, string>;

/** Epoch ms. What is added at each look is not exact to the millisecond. */
const wholeSecond = (ms: number) => Math.ceil(ms / 1_000) * 1_000;

const percent = (share: number) => `${Math.round(share * 1_000) / 10} %`;

function changedMeanwhile({ generation, state, stage }: PolicyRollout): PlimsollError {
  return new PlimsollError(
    "conflict",
    `The rollout of generation ${generation} has changed meanwhile (it was ${state} at stage ${stage + 1}). Look at it again.`,
  );
}
