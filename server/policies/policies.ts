import {
  isStorable,
  NOT_STORABLE,
  type PolicyBody,
  type PolicyMistake,
  type RolloutPlan,
  readPolicy,
} from "@plimsoll/protocol/policy";
import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { databaseTime } from "../db/database-clock.ts";
import { PlimsollError } from "../errors.ts";
import { hashOf } from "../lines/hash.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import type { LiveHub } from "../live/hub.ts";
import { mistakesText } from "../mistakes.ts";
import { hasComments, parseYaml } from "../parse-yaml.ts";
import { type Actor, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { ALL_HARNESSES, addStep, nextRevision } from "./policy-steps.ts";
import { beginRollout, supersedeRollouts } from "./rollout-rows.ts";

export interface PoliciesOptions {
  prisma: PrismaClient;
  hub: Pick<LiveHub, "policyChanged" | "onPolicyChanged">;
  log: Logger;
  /** Epoch ms, for the audit log. Policies themselves go by the database's clock. */
  clock: () => number;
}

export interface SavedPolicy {
  projectId: number;
  /** Anything, or the text of YAML, which is kept if it has comments; checked here. */
  body: unknown;
  /** The newest generation that its author has seen. */
  expected: number;
  reason: string;
  actor: Actor;
  /** All harnesses at once by default. */
  rollout?: RolloutPlan;
  /** `history` judges what is recorded by it as well. */
  from?: "now" | "history";
  /** The generation that it repeats. */
  restores?: number;
}

type Listener = (projectId: number, generation: number) => void;

/** Milliseconds after which a cached policy is read again in the background, in case a message was lost. */
const TRUST_MS = 30_000;

/** The policies of all projects, cached in memory. Only the first read of a project waits for the database. */
export class Policies {
  readonly #options: PoliciesOptions;
  readonly #books = new Map<number, { book: PolicyBook; readAt: number }>();
  readonly #listeners = new Set<Listener>();
  readonly #stopHearing: () => void;

  constructor(options: PoliciesOptions) {
    this.#options = options;
    this.#stopHearing = options.hub.onPolicyChanged((projectId) => {
      const changed = projectId === null ? [...this.#books.keys()] : [projectId];
      for (const id of changed) this.#refresh(id);
    });
  }

  /** The cached policy of a project; undefined if there is none. Refreshes an old one in the background. */
  recall(projectId: number): PolicyBook | undefined {
    const known = this.#books.get(projectId);
    if (known === undefined || performance.now() - known.readAt > TRUST_MS) this.#refresh(projectId);
    return known?.book;
  }

  async bookOf(projectId: number): Promise<PolicyBook> {
    return this.recall(projectId) ?? this.#read(projectId);
  }

  /** Called whenever a project's policy changed, with the newest generation. */
  onChanged(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Drops the cache after projects were deleted or restored. */
  clear(): void {
    const known = [...this.#books.keys()];
    this.#books.clear();
    for (const projectId of known) this.#refresh(projectId);
  }

  /**
   * Saves a new version.
   * @returns its generation
   * @throws PlimsollError `invalid_policy` with `details.mistakes`, `policy_changed` with both versions if somebody else saved one
   * meanwhile, `not_found`
   */
  async save({ projectId, ...saved }: SavedPolicy): Promise<number> {
    const { body } = saved;
    const parsed = readPolicy(typeof body === "string" ? parsedText(body) : body);
    if (!parsed.ok) throw invalidPolicy(parsed.mistakes);
    const plan =
      saved.rollout === undefined || saved.rollout.strategy === "all_at_once" ? undefined : saved.rollout;
    if (plan !== undefined && saved.from === "history")
      throw new PlimsollError("invalid_field", HISTORY_AT_ONCE);
    const { prisma, clock } = this.#options;
    const generation = await prisma.$transaction(async (tx) => {
      const revision = await nextRevision(tx, projectId);
      const newest = await tx.policyVersion.findFirst({
        where: { projectId },
        orderBy: { generation: "desc" },
      });
      const current = newest?.generation ?? 0;
      if (current !== saved.expected) throw policyChanged(saved.expected, current, newest, parsed.body);
      const now = await databaseTime(tx);
      const { actor } = saved;
      await tx.policyVersion.create({
        data: {
          projectId,
          generation: current + 1,
          hash: hashOf(parsed.body),
          body: parsed.body as object,
          text: typeof body === "string" && hasComments(body) ? body : null,
          reason: saved.reason,
          ...authorOf(actor),
          restores: saved.restores ?? null,
          createdAt: now,
        },
      });
      await supersedeRollouts(tx, projectId, now);
      const offer =
        plan === undefined
          ? ALL_HARNESSES
          : await beginRollout(tx, { projectId, generation: current + 1, plan, revision, now });
      const at = saved.from === "history" ? new Date(0) : now;
      await addStep(tx, { projectId, revision, generation: current + 1, at, createdAt: now, offer });
      await addEntry(tx, clock(), {
        actor,
        action: saved.restores === undefined ? "policy_saved" : "policy_rolled_back",
        projectId,
        target: `generation ${current + 1}`,
        detail: saved.reason,
      });
      return current + 1;
    });
    await this.changed(projectId);
    return generation;
  }

  /** Reads a project's policy again after a step was committed, and tells everybody. */
  async changed(projectId: number): Promise<void> {
    await this.#read(projectId);
    this.#options.hub.policyChanged(projectId);
  }

  stop(): void {
    this.#stopHearing();
    this.#listeners.clear();
  }

  #refresh(projectId: number): void {
    this.#read(projectId).catch((err: unknown) => {
      this.#options.log.warn({ err, projectId }, "the policy could not be read; the known one stays");
    });
  }

  async #read(projectId: number): Promise<PolicyBook> {
    const { prisma } = this.#options;
    const readAt = performance.now();
    const read = await PolicyBook.read(
      { query: (text, ...values) => prisma.$queryRawUnsafe(text, ...values) },
      projectId,
    );
    const before = this.#books.get(projectId)?.book;
    // Reads may overlap, and an older one may finish last.
    const book = before !== undefined && before.revision >= read.revision ? before : read;
    this.#books.set(projectId, { book, readAt });
    if (book !== before) {
      for (const listener of this.#listeners) listener(projectId, book.generation);
    }
    return book;
  }
}

const HISTORY_AT_ONCE =
  "rollout: a policy for history counts for all harnesses. Leave out the rollout, or let the policy count from now on.";

/** Aliases in the text of a policy. */
const MOST_ALIASES = 20;

/**
 * The value of a policy's text; an empty text is an empty policy.
 * @throws PlimsollError `bad_request`, `invalid_policy`
 */
function parsedText(text: string): unknown {
  if (!isStorable(text)) throw invalidPolicy([{ path: "", message: NOT_STORABLE }]);
  return parseYaml(text, MOST_ALIASES) ?? {};
}

export function invalidPolicy(mistakes: readonly PolicyMistake[]): PlimsollError {
  return new PlimsollError("invalid_policy", mistakesText(mistakes, "policy"), { details: { mistakes } });
}

function policyChanged(
  expected: number,
  current: number,
  newest: { body: unknown; text: string | null; reason: string; createdAt: Date } | null,
  yours: PolicyBody,
): PlimsollError {
  return new PlimsollError(
    "policy_changed",
    `Somebody saved generation ${current} after the generation ${expected} that you changed. Compare both and save again.`,
    {
      details: {
        expected,
        generation: current,
        theirs: newest?.body ?? null,
        theirs_text: newest?.text ?? null,
        reason: newest?.reason ?? null,
        saved_at: newest?.createdAt.toISOString() ?? null,
        yours,
      },
    },
  );
}
