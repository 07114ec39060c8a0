import type { AlertMatcher } from "@plimsoll/protocol/alerts";
import type { AcknowledgedAlerts, AlertSilenceView } from "@plimsoll/protocol/api";
import { v7 as uuid } from "uuid";
import type { PrismaClient, Transaction } from "../db/client.ts";
import { databaseTime } from "../db/database-clock.ts";
import type { AlertSilence } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import { type Actor, addEntry, authorOf } from "../tenants/audit/entry.ts";
import { iso } from "../times.ts";
import { raiseAlertRevision } from "./alert-revision.ts";

export interface AlertSilencesOptions {
  prisma: PrismaClient;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  /** Called after a change of a project's silences or acknowledgements. */
  changed: (projectId: number) => void;
}

/** Silences in one list, the latest end first. */
const MOST_SILENCES = 500;

/** What keeps alerts quiet: silences, and acknowledgements. */
export class AlertSilences {
  readonly #options: AlertSilencesOptions;

  constructor(options: AlertSilencesOptions) {
    this.#options = options;
  }

  async list(projectId: number): Promise<AlertSilenceView[]> {
    const { prisma } = this.#options;
    const now = await databaseTime(prisma);
    const rows = await prisma.alertSilence.findMany({
      where: { projectId },
      orderBy: [{ endsAt: "desc" }, { id: "desc" }],
      take: MOST_SILENCES,
    });
    return rows.map((row) => viewOf(row, now));
  }

  /** @throws PlimsollError `invalid_field` if it is over already, `not_found` */
  async create(
    projectId: number,
    silence: { matchers: AlertMatcher[]; comment: string; startsAt: Date | undefined; endsAt: Date },
    actor: Actor,
  ): Promise<AlertSilenceView> {
    const { matchers, comment, startsAt, endsAt } = silence;
    return this.#change(projectId, async (tx, now) => {
      if (endsAt <= now)
        throw new PlimsollError(
          "invalid_field",
          `ends_at: ${iso(endsAt)} is in the past. Choose a later time.`,
        );
      const row = await tx.alertSilence.create({
        data: {
          projectId,
          id: uuid(),
          matchers: matchers as object[],
          comment,
          startsAt: startsAt ?? now,
          endsAt,
          ...authorOf(actor),
          createdAt: now,
        },
      });
      const target = matchers.map(matcherText).join(", ");
      await this.#note(tx, { actor, action: "alert_silenced", projectId, target, detail: comment });
      return viewOf(row, now);
    });
  }

  /** Ends a silence now. @throws PlimsollError `not_found` if there is none, or it is over */
  async end(projectId: number, id: string, actor: Actor): Promise<AlertSilenceView> {
    return this.#change(projectId, async (tx, now) => {
      const row = await tx.alertSilence.findUnique({ where: { projectId_id: { projectId, id } } });
      if (row === null || row.endsAt <= now)
        throw new PlimsollError("not_found", `There is no silence ${id} that is not over.`);
      const ended = await tx.alertSilence.update({
        where: { projectId_id: { projectId, id } },
        // A silence that has not begun never does.
        data: { endsAt: now, ...(row.startsAt > now && { startsAt: now }) },
      });
      await this.#note(tx, { actor, action: "alert_silence_ended", projectId, target: row.comment });
      return viewOf(ended, now);
    });
  }

  /** Acknowledges alerts that are open. */
  async acknowledge(projectId: number, ids: readonly string[], actor: Actor): Promise<AcknowledgedAlerts> {
    return this.#change(projectId, async (tx, now) => {
      const { count } = await tx.alert.updateMany({
        where: {
          projectId,
          id: { in: [...ids] },
          resolvedAt: null,
          firedAt: { not: null },
          acknowledgedAt: null,
        },
        data: { acknowledgedAt: now, acknowledgedBy: nameOf(actor) },
      });
      if (count > 0) {
        const target = `${count} alert${count === 1 ? "" : "s"}`;
        await this.#note(tx, { actor, action: "alert_acknowledged", projectId, target });
      }
      return { acknowledged: count };
    });
  }

  async #change<T>(projectId: number, run: (tx: Transaction, now: Date) => Promise<T>): Promise<T> {
    const { prisma, changed } = this.#options;
    const result = await prisma.$transaction(async (tx) => {
      await raiseAlertRevision(tx, projectId);
      return run(tx, await databaseTime(tx));
    });
    changed(projectId);
    return result;
  }

  #note(tx: Transaction, note: Parameters<typeof addEntry>[2]): Promise<void> {
    return addEntry(tx, this.#options.clock(), note);
  }
}

const matcherText = ({ label, is, is_not }: AlertMatcher) =>
  is === undefined ? `${label} is not ${is_not}` : `${label} is ${is}`;

const nameOf = (actor: Actor): string =>
  actor.kind === "local" ? "command line" : "name" in actor ? (actor.name ?? actor.kind) : actor.kind;

function viewOf(row: AlertSilence, now: Date): AlertSilenceView {
  return {
    id: row.id,
    matchers: row.matchers as AlertMatcher[],
    comment: row.comment,
    state: row.endsAt <= now ? "ended" : row.startsAt > now ? "pending" : "active",
    starts_at: iso(row.startsAt),
    ends_at: iso(row.endsAt),
    actor: row.actor,
    actor_name: row.actorName,
    created_at: iso(row.createdAt),
  };
}
