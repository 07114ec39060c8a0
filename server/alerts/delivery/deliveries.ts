import { AlertNotification, type DeliveryState, type NotificationKind } from "@plimsoll/protocol/alerts";
import type {
  AlertAttempt,
  AlertDeliveriesQuery,
  AlertDeliveryDetail,
  AlertDeliveryPage,
  AlertDeliveryQuery,
  AlertDeliveryView,
  AttemptOutcome,
} from "@plimsoll/protocol/api";
import type { PrismaClient } from "../../db/client.ts";
import { databaseTime } from "../../db/database-clock.ts";
import type { AlertDelivery, AlertAttempt as AttemptRow } from "../../db/generated/client.ts";
import { PlimsollError } from "../../errors.ts";
import { type Actor, addEntry } from "../../tenants/audit/entry.ts";
import { iso } from "../../times.ts";
import type { Deliverer } from "./deliverer.ts";

export interface AlertDeliveriesOptions {
  prisma: PrismaClient;
  deliverer: Pick<Deliverer, "wake">;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  changed: (projectId: number) => void;
}

/** Attempts that are shown of one delivery. */
const MOST_ATTEMPTS = 50;

/** What was sent, and what is to be sent. */
export class AlertDeliveries {
  readonly #options: AlertDeliveriesOptions;

  constructor(options: AlertDeliveriesOptions) {
    this.#options = options;
  }

  /** Newest first. @throws PlimsollError `bad_request` for a cursor that this server did not give */
  async list(
    projectId: number,
    { endpoint, state, limit, cursor }: AlertDeliveriesQuery,
  ): Promise<AlertDeliveryPage> {
    const { prisma } = this.#options;
    if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
      throw new PlimsollError("bad_request", "The cursor is not one that this server gave.");
    const rows = await prisma.alertDelivery.findMany({
      where: {
        projectId,
        ...(endpoint !== undefined && { endpointId: endpoint }),
        ...(state !== undefined && { state }),
        ...(cursor !== undefined && { serial: { lt: BigInt(cursor) } }),
      },
      orderBy: { serial: "desc" },
      take: limit + 1,
    });
    const names = await this.#names(projectId);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return {
      items: items.map((row) => viewOf(row, names)),
      next_cursor: rows.length > limit && last !== undefined ? String(last.serial) : null,
    };
  }

  /** One delivery with its attempts. @throws PlimsollError `not_found` */
  async get(
    projectId: number,
    { endpoint: endpointId, id }: AlertDeliveryQuery,
  ): Promise<AlertDeliveryDetail> {
    const { prisma } = this.#options;
    const row = await prisma.alertDelivery.findUnique({
      where: { projectId_endpointId_id: { projectId, endpointId, id } },
    });
    if (row === null) throw noDelivery(id);
    const log = await prisma.alertAttempt.findMany({
      where: { projectId, endpointId, deliveryId: id },
      orderBy: { number: "desc" },
      take: MOST_ATTEMPTS,
    });
    return {
      ...viewOf(row, await this.#names(projectId)),
      notification: AlertNotification.parse(row.body),
      log: log.map(attemptOf),
    };
  }

  /**
   * Sends a delivery again, with the same id, and with the retries of a new one.
   * @throws PlimsollError `not_found`, `conflict` if it waits already or its endpoint is paused
   */
  async redeliver(
    projectId: number,
    { endpoint: endpointId, id }: AlertDeliveryQuery,
    actor: Actor,
  ): Promise<AlertDeliveryView> {
    const { prisma, deliverer, clock, changed } = this.#options;
    const key = { projectId_endpointId_id: { projectId, endpointId, id } };
    const row = await prisma.$transaction(async (tx) => {
      const found = await tx.alertDelivery.findUnique({ where: key });
      if (found === null) throw noDelivery(id);
      if (found.state === "waiting")
        throw new PlimsollError("conflict", "This delivery is already waiting for its next attempt.");
      const endpoint = await tx.alertEndpoint.findUnique({
        where: { projectId_id: { projectId, id: endpointId } },
      });
      if (endpoint?.pauseReason != null)
        throw new PlimsollError(
          "conflict",
          `The endpoint ${JSON.stringify(endpoint.name)} is paused. Resume it first.`,
        );
      const now = await databaseTime(tx);
      const target = endpoint?.name ?? endpointId;
      await addEntry(tx, clock(), {
        actor,
        action: "alert_redelivered",
        projectId,
        target,
        detail: found.title,
      });
      return tx.alertDelivery.update({
        where: key,
        data: { state: "waiting", since: now, nextAt: now, finishedAt: null },
      });
    });
    deliverer.wake();
    changed(projectId);
    return viewOf(row, await this.#names(projectId));
  }

  async #names(projectId: number): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#options.prisma.alertEndpoint.findMany({
      where: { projectId },
      select: { id: true, name: true },
    });
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}

function viewOf(row: AlertDelivery, names: ReadonlyMap<string, string>): AlertDeliveryView {
  return {
    id: row.id,
    endpoint_id: row.endpointId,
    endpoint: names.get(row.endpointId) ?? "",
    kind: row.kind as NotificationKind,
    group: row.groupKey,
    state: row.state as DeliveryState,
    title: row.title,
    attempts: row.attempts,
    created_at: iso(row.createdAt),
    finished_at: row.finishedAt === null ? null : iso(row.finishedAt),
    next_at: row.nextAt === null ? null : iso(row.nextAt),
    last_outcome: row.lastOutcome as AttemptOutcome | null,
  };
}

const attemptOf = ({
  number,
  at,
  outcome,
  status,
  durationMs,
  request,
  answer,
}: AttemptRow): AlertAttempt => ({
  number,
  at: iso(at),
  outcome: outcome as AttemptOutcome,
  status,
  duration_ms: durationMs,
  request,
  answer,
});

const noDelivery = (id: string) =>
  new PlimsollError("not_found", `There is no delivery ${id} to this endpoint.`);
