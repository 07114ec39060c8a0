import { setTimeout as sleep } from "node:timers/promises";
import type { ChangeRolloutCall, RolloutView } from "@plimsoll/protocol/api";
import { decideRollout, type RolloutDecision, stagesOf } from "@plimsoll/protocol/policy";
import type { Logger } from "pino";
import type { PrismaClient, Transaction } from "../db/client.ts";
import { databaseTime } from "../db/database-clock.ts";
import type { PolicyRollout, Prisma } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import { type Actor, addEntry } from "../tenants/audit/entry.ts";
import { iso } from "../times.ts";
import { type ObservedRollout, observeRollout } from "./observe-rollout.ts";
import type { Policies } from "./policies.ts";
import { addStep, nextRevision } from "./policy-steps.ts";
import { offerOf, planOf } from "./rollout-rows.ts";

export interface RolloutsOptions {
  prisma: PrismaClient;
  policies: Pick<Policies, "bookOf" | "changed">;
  log: Logger;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  /** Milliseconds between two looks at the rollouts under way. */
  everyMs?: number;
}

const EVERY_MS = 2_000;
const MOST_REJECTED = 20;

/**
 * Leads rollouts through their stages. Every server does, for all projects: whoever changes the row of a stage first has decided it,
 * and a server that stood still changes nothing.
 */
export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #stop = new AbortController();
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
   * Advances, halts or resumes a rollout for a person.
   * @throws PlimsollError `not_found`, `conflict` if it has changed since it was seen
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
    const wanted = action === "resume" ? "halted" : "running";
    if (row.state !== wanted || row.stage !== stage) throw changedMeanwhile(row);
    if (action === "halt") await this.#halt(row, "asked", actor);
    else if (action === "resume") await this.#resume(row, actor);
    else await this.#advance(row, row.stage + 1, actor);
    return this.#view(await prisma.policyRollout.findUniqueOrThrow({ where }));
  }

  /** Looks at every rollout under way once. */
  async look(): Promise<void> {
    const rows = await this.#options.prisma.policyRollout.findMany({ where: { state: "running" } });
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
    const { log, everyMs = EVERY_MS } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.look().catch((err: unknown) => log.warn({ err }, "the rollouts could not be read"));
      await sleep(everyMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
    }
  }

  async #go(row: PolicyRollout): Promise<void> {
    const { decision } = await this.#decide(row);
    if (decision.type === "halt") await this.#halt(row, decision.reason, { kind: "server" });
    if (decision.type === "advance") await this.#advance(row, decision.to, { kind: "server" });
  }

  async #decide(row: PolicyRollout): Promise<{ decision: RolloutDecision; observed: ObservedRollout }> {
    const { prisma, policies } = this.#options;
    const now = (await databaseTime(prisma)).getTime();
    const observed = await observeRollout(prisma, await policies.bookOf(row.projectId), row, now);
    const news = {
      rejected: observed.rejected.filter(({ instance }) => !row.forgiven.includes(instance)).length,
      applied: observed.applied.length,
      restarts: observed.restarts,
      crossings: observed.crossings,
    };
    const progress = { stage: row.stage, since: row.since.getTime() };
    return { decision: decideRollout(planOf(row), progress, news, now), observed };
  }

  async #advance(row: PolicyRollout, to: number, actor: Actor): Promise<void> {
    const plan = planOf(row);
    const last = stagesOf(plan).length - 1;
    const stage = Math.min(to, last);
    const offer = offerOf({ plan, canary: row.canary }, stage);
    await this.#write(
      row,
      actor,
      "rollout_advanced",
      `to ${percent(offer.share)} of the harnesses`,
      (now) => ({
        stage,
        since: now,
        ...(stage === last && { state: "finished", endedAt: now }),
      }),
    );
  }

  async #halt(row: PolicyRollout, reason: HaltCause, actor: Actor): Promise<void> {
    await this.#write(row, actor, "rollout_halted", HALTED[reason], () => ({
      state: "halted",
      haltReason: reason,
    }));
  }

  /** What halted it does not halt it again. */
  async #resume(row: PolicyRollout, actor: Actor): Promise<void> {
    const { observed } = await this.#decide(row);
    await this.#write(row, actor, "rollout_resumed", undefined, (now) => ({
      state: "running",
      haltReason: null,
      since: now,
      resumedAt: now,
      forgiven: observed.rejected.map(({ instance }) => instance),
    }));
  }

  /** @throws PlimsollError `conflict` if the row is no longer the one that was read */
  async #write(
    row: PolicyRollout,
    actor: Actor,
    action: "rollout_advanced" | "rollout_halted" | "rollout_resumed",
    detail: string | undefined,
    change: (now: Date) => Prisma.PolicyRolloutUpdateManyMutationInput,
  ): Promise<void> {
    const { prisma, policies, clock } = this.#options;
    const { projectId, generation, state, stage, resumedAt } = row;
    await prisma.$transaction(async (tx) => {
      // First, because a save takes this lock first as well.
      const revision = await nextRevision(tx, projectId);
      const now = await databaseTime(tx);
      const data = change(now);
      const { count } = await tx.policyRollout.updateMany({
        where: { projectId, generation, state, stage, resumedAt },
        data,
      });
      if (count === 0) throw changedMeanwhile(row);
      await this.#addStep(tx, row, (data.stage as number | undefined) ?? stage, revision, now);
      const note = detail === undefined ? {} : { detail };
      await addEntry(tx, clock(), { actor, action, projectId, target: `generation ${generation}`, ...note });
    });
    await policies.changed(projectId);
  }

  /** Also if it offers the same as the step before: its number tells every server that something changed. */
  #addStep(
    tx: Transaction,
    { projectId, generation, canary, ...row }: PolicyRollout,
    stage: number,
    revision: number,
    now: Date,
  ): Promise<void> {
    const offer = offerOf({ plan: planOf(row), canary }, stage);
    return addStep(tx, { projectId, revision, generation, at: now, createdAt: now, ...offer });
  }

  async #view(row: PolicyRollout): Promise<RolloutView> {
    const { decision, observed } = await this.#decide(row);
    const { generation: previous } = (await this.#options.policies.bookOf(row.projectId)).previous(
      row.generation,
    );
    const plan = planOf(row);
    const waits = row.state === "running" && decision.type === "wait" ? decision : undefined;
    return {
      generation: row.generation,
      previous: previous === 0 ? null : previous,
      strategy: plan.strategy,
      state: row.state as RolloutView["state"],
      halt_reason: row.haltReason as RolloutView["halt_reason"],
      stage: row.stage,
      since: iso(row.since),
      stages: stagesOf(plan).map((_, stage) => {
        const { share, harnesses } = offerOf({ plan, canary: row.canary }, stage);
        return { share, harnesses: [...harnesses] };
      }),
      bake_s: plan.bake_s,
      waits_for: waits?.for ?? null,
      next_at: waits === undefined ? null : iso(new Date(waits.until)),
      ended_at: row.endedAt === null ? null : iso(row.endedAt),
      offered: observed.offered.length,
      applied: observed.applied.length,
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

type HaltCause = NonNullable<RolloutView["halt_reason"]>;

const HALTED = {
  rejected: "a harness rejected it",
  more_restarts: "more restarts",
  more_crossings: "more crossings",
  asked: "asked for",
} as const satisfies Record<HaltCause, string>;

const percent = (share: number) => `${Math.round(share * 1_000) / 10} %`;

function changedMeanwhile({ generation, state, stage }: PolicyRollout): PlimsollError {
  return new PlimsollError(
    "conflict",
    `The rollout of generation ${generation} has changed meanwhile (it was ${state} at stage ${stage + 1}). Look at it again.`,
  );
}
