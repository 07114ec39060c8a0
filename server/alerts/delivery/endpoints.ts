import { type AlertEndpointKind, type AlertEndpointTarget, shownAddress } from "@plimsoll/protocol/alerts";
import type {
  AlertAttempt,
  AlertEndpointView,
  AlertEndpointWithSecret,
  AttemptOutcome,
  PauseReason,
} from "@plimsoll/protocol/api";
import { v7 as uuid } from "uuid";
import type { PrismaClient, Transaction } from "../../db/client.ts";
import { databaseTime } from "../../db/database-clock.ts";
import type { AlertEndpoint } from "../../db/generated/client.ts";
import { PlimsollError } from "../../errors.ts";
import type { SecretBox } from "../../secret-box.ts";
import { type Actor, addEntry, authorOf } from "../../tenants/audit/entry.ts";
import { iso } from "../../times.ts";
import { raiseAlertRevision } from "../alert-revision.ts";
import { testNotification } from "../formats/test-notification.ts";
import { AddressNotAllowed, checkLiteral, type OpenNetworks } from "./addresses.ts";
import type { Deliverer } from "./deliverer.ts";
import {
  newSigningSecret,
  OLD_SECRET_MS,
  openSecrets,
  type StoredSecrets,
  sealSecrets,
} from "./stored-secrets.ts";

export interface AlertEndpointsOptions {
  prisma: PrismaClient;
  box: SecretBox;
  deliverer: Pick<Deliverer, "wake" | "sendNow">;
  /** Networks that endpoints may reach besides the public ones. */
  open: OpenNetworks;
  /** Epoch ms, for the audit log. */
  clock: () => number;
  /** Called after a change of a project's endpoints. */
  changed: (projectId: number) => void;
}

const MOST_ENDPOINTS = 100;

type EndpointAction =
  | "alert_endpoint_created"
  | "alert_endpoint_changed"
  | "alert_endpoint_deleted"
  | "alert_endpoint_tested";

/** The endpoints of all projects. Their secrets leave this class only when they are made. */
export class AlertEndpoints {
  readonly #options: AlertEndpointsOptions;

  constructor(options: AlertEndpointsOptions) {
    this.#options = options;
  }

  /** Names the key with which this process encrypts secrets. */
  get keyId(): string {
    return this.#options.box.keyId;
  }

  /** By name. */
  async list(projectId: number): Promise<AlertEndpointView[]> {
    const { prisma } = this.#options;
    const [rows, waiting, rules] = await Promise.all([
      prisma.alertEndpoint.findMany({ where: { projectId }, orderBy: { name: "asc" } }),
      prisma.$queryRaw<{ id: string; count: number }[]>`
        SELECT endpoint_id AS id, count(*)::int4 AS count FROM alert_deliveries
        WHERE project_id = ${projectId} AND state = 'waiting' GROUP BY endpoint_id`,
      prisma.$queryRaw<{ id: string; count: number }[]>`
        SELECT e.id, count(*)::int4 AS count
        FROM alert_rules r, jsonb_array_elements_text(r.body -> 'endpoints') AS e (id)
        WHERE r.project_id = ${projectId} GROUP BY e.id`,
    ]);
    const countOf = (counts: readonly { id: string; count: number }[], id: string) =>
      counts.find((one) => one.id === id)?.count ?? 0;
    return rows.map((row) => ({
      ...viewOf(row, this.#options.box.keyId),
      waiting: countOf(waiting, row.id),
      rules: countOf(rules, row.id),
    }));
  }

  /** @throws PlimsollError `not_found` */
  async get(projectId: number, id: string): Promise<AlertEndpointView> {
    const found = (await this.list(projectId)).find((endpoint) => endpoint.id === id);
    if (found === undefined) throw noEndpoint(id);
    return found;
  }

  /**
   * @throws PlimsollError `conflict` if the name is taken or there are too many, `bad_request` if the address is one that this server
   * must not reach
   */
  async create(
    projectId: number,
    { name, target }: { name: string; target: AlertEndpointTarget },
    actor: Actor,
  ): Promise<AlertEndpointWithSecret> {
    refuseUnreachable(target, this.#options.open);
    const id = uuid();
    const secrets: StoredSecrets = {
      target,
      signing: target.kind === "webhook" ? [newSigningSecret()] : [],
    };
    await this.#change(projectId, async (tx, now) => {
      if ((await tx.alertEndpoint.count({ where: { projectId } })) >= MOST_ENDPOINTS)
        throw new PlimsollError("conflict", `The project has ${MOST_ENDPOINTS} endpoints. Delete one first.`);
      await refuseTakenName(tx, projectId, name, undefined);
      const row = { projectId, id, name, version: 1, createdAt: now, updatedAt: now, ...authorOf(actor) };
      await tx.alertEndpoint.create({ data: { ...row, ...this.#targetFields(projectId, id, secrets) } });
      await this.#note(tx, "alert_endpoint_created", projectId, name, actor, target.kind);
    });
    return { endpoint: await this.get(projectId, id), signing_secret: secrets.signing[0] ?? null };
  }

  /**
   * Renames an endpoint, or gives it another target. A target of another kind gets a new signing secret, or none.
   * @throws PlimsollError `not_found`, `conflict` if the name is taken, `alert_endpoint_changed` if somebody else changed it meanwhile,
   * `bad_request` if the address is one that this server must not reach
   */
  async save(
    projectId: number,
    change: { id: string; expected: number; name: string; target?: AlertEndpointTarget | undefined },
    actor: Actor,
  ): Promise<AlertEndpointWithSecret> {
    const { id, expected, name, target } = change;
    if (target !== undefined) refuseUnreachable(target, this.#options.open);
    const made = await this.#change(projectId, async (tx, now) => {
      const row = await findEndpoint(tx, projectId, id);
      if (row.version !== expected)
        throw new PlimsollError(
          "alert_endpoint_changed",
          `Somebody saved version ${row.version} of the endpoint after the version ${expected} that you changed. Look at it and save again.`,
          { details: { expected, version: row.version } },
        );
      await refuseTakenName(tx, projectId, name, id);
      const before = this.#secretsOf(row);
      const signing = target?.kind === "webhook" ? (before?.signing ?? []) : [];
      const isNew = target?.kind === "webhook" && signing.length === 0;
      const secrets = target && { target, signing: isNew ? [newSigningSecret()] : signing };
      await tx.alertEndpoint.update({
        where: { projectId_id: { projectId, id } },
        data: {
          name,
          version: row.version + 1,
          updatedAt: now,
          ...authorOf(actor),
          ...(secrets && this.#targetFields(projectId, id, secrets)),
          // A new target has not failed yet.
          ...(secrets && { failingSince: null }),
          ...(secrets && row.pauseReason !== "person" && { pauseReason: null, pausedAt: null }),
        },
      });
      await this.#note(tx, "alert_endpoint_changed", projectId, name, actor, target && "new target");
      return isNew ? (secrets?.signing[0] ?? null) : null;
    });
    return { endpoint: await this.get(projectId, id), signing_secret: made };
  }

  /**
   * Deletes an endpoint and the log of its deliveries.
   * @throws PlimsollError `not_found`, `conflict` if rules send to it
   */
  async remove(projectId: number, id: string, actor: Actor): Promise<void> {
    await this.#change(projectId, async (tx) => {
      const { name } = await findEndpoint(tx, projectId, id);
      const rules = await tx.$queryRaw<{ name: string }[]>`
        SELECT name FROM alert_rules WHERE project_id = ${projectId} AND body -> 'endpoints' ? ${id} ORDER BY name LIMIT 5`;
      if (rules.length > 0) {
        const names = rules.map((rule) => JSON.stringify(rule.name)).join(", ");
        throw new PlimsollError(
          "conflict",
          `Rules send to this endpoint: ${names}. Remove it from them first.`,
        );
      }
      const where = { projectId, endpointId: id };
      await tx.alertAttempt.deleteMany({ where });
      await tx.alertDelivery.deleteMany({ where });
      await tx.alertEndpoint.delete({ where: { projectId_id: { projectId, id } } });
      await this.#note(tx, "alert_endpoint_deleted", projectId, name, actor);
    });
  }

  /**
   * Gives a webhook a new signing secret. The old one signs as well for 24 h.
   * @throws PlimsollError `not_found`, `bad_request` if the endpoint has none or its secrets cannot be read
   */
  async rotate(projectId: number, id: string, actor: Actor): Promise<AlertEndpointWithSecret> {
    const secret = newSigningSecret();
    await this.#change(projectId, async (tx, now) => {
      const row = await findEndpoint(tx, projectId, id);
      const before = this.#secretsOf(row);
      if (before === undefined) throw unreadable();
      if (before.target.kind !== "webhook")
        throw new PlimsollError(
          "bad_request",
          "Only webhooks have a signing secret. Save a new target instead.",
        );
      const secrets = { ...before, signing: [secret, ...before.signing].slice(0, 2) };
      const previousSecretUntil = new Date(now.getTime() + OLD_SECRET_MS);
      await tx.alertEndpoint.update({
        where: { projectId_id: { projectId, id } },
        data: {
          ...this.#targetFields(projectId, id, secrets),
          previousSecretUntil,
          version: row.version + 1,
          updatedAt: now,
          ...authorOf(actor),
        },
      });
      await this.#note(tx, "alert_endpoint_changed", projectId, row.name, actor, "new signing secret");
    });
    return { endpoint: await this.get(projectId, id), signing_secret: secret };
  }

  /** Pauses an endpoint, or sends to it again. @throws PlimsollError `not_found` */
  async pause(projectId: number, id: string, paused: boolean, actor: Actor): Promise<AlertEndpointView> {
    await this.#change(projectId, async (tx, now) => {
      const row = await findEndpoint(tx, projectId, id);
      if ((row.pauseReason !== null) === paused) return;
      await tx.alertEndpoint.update({
        where: { projectId_id: { projectId, id } },
        data: {
          version: row.version + 1,
          updatedAt: now,
          ...authorOf(actor),
          ...(paused
            ? { pauseReason: "person", pausedAt: now }
            : { pauseReason: null, pausedAt: null, failingSince: null }),
        },
      });
      // What waits is tried at once, and no attempt is planned long after the pause.
      if (!paused)
        await tx.alertDelivery.updateMany({
          where: { projectId, endpointId: id, state: "waiting" },
          data: { nextAt: now },
        });
      await this.#note(
        tx,
        "alert_endpoint_changed",
        projectId,
        row.name,
        actor,
        paused ? "paused" : "resumed",
      );
    });
    return this.get(projectId, id);
  }

  /**
   * Sends a test at once and waits for the answer.
   * @throws PlimsollError `not_found`, `bad_request` if its secrets cannot be read
   */
  async test(projectId: number, id: string, actor: Actor): Promise<AlertAttempt> {
    const { prisma, deliverer } = this.#options;
    const { name } = await findEndpoint(prisma, projectId, id);
    const project = await prisma.project.findUniqueOrThrow({ where: { id: projectId } });
    const now = (await databaseTime(prisma)).getTime();
    const notification = testNotification({ id: projectId, name: project.name }, { id: uuid(), now });
    const attempt = await deliverer.sendNow({ projectId, endpointId: id }, notification);
    if (attempt === undefined) throw unreadable();
    await this.#note(prisma, "alert_endpoint_tested", projectId, name, actor, attempt.outcome);
    return attempt;
  }

  #secretsOf({ projectId, id, sealed }: AlertEndpoint): StoredSecrets | undefined {
    return openSecrets(this.#options.box, projectId, id, sealed);
  }

  #targetFields(projectId: number, id: string, secrets: StoredSecrets) {
    const { target } = secrets;
    const { sealed, keyId } = sealSecrets(this.#options.box, projectId, id, secrets);
    return { kind: target.kind, address: shownAddress(target), sealed, keyId };
  }

  async #change<T>(projectId: number, run: (tx: Transaction, now: Date) => Promise<T>): Promise<T> {
    const { prisma, changed, deliverer } = this.#options;
    const result = await prisma.$transaction(async (tx) => {
      // Endpoints and the rules that name them change one after another.
      await raiseAlertRevision(tx, projectId);
      return run(tx, await databaseTime(tx));
    });
    changed(projectId);
    deliverer.wake();
    return result;
  }

  #note(
    client: Pick<PrismaClient, "auditEntry">,
    action: EndpointAction,
    projectId: number,
    target: string,
    actor: Actor,
    detail?: string,
  ): Promise<void> {
    const note = { actor, action, projectId, target, ...(detail !== undefined && { detail }) };
    return addEntry(client, this.#options.clock(), note);
  }
}

function viewOf(row: AlertEndpoint, keyId: string): Omit<AlertEndpointView, "waiting" | "rules"> {
  const { lastAt, lastOutcome, lastStatus: status } = row;
  const time = (at: Date | null) => (at === null ? null : iso(at));
  return {
    id: row.id,
    version: row.version,
    name: row.name,
    kind: row.kind as AlertEndpointKind,
    address: row.address,
    readable: row.keyId === keyId,
    pause_reason: row.pauseReason as PauseReason | null,
    paused_at: time(row.pausedAt),
    failing_since: time(row.failingSince),
    previous_secret_until: time(row.previousSecretUntil),
    last_attempt:
      lastAt === null ? null : { at: iso(lastAt), outcome: lastOutcome as AttemptOutcome, status },
    actor: row.actor,
    actor_name: row.actorName,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

async function findEndpoint(
  client: Pick<Transaction, "alertEndpoint">,
  projectId: number,
  id: string,
): Promise<AlertEndpoint> {
  const row = await client.alertEndpoint.findUnique({ where: { projectId_id: { projectId, id } } });
  if (row === null) throw noEndpoint(id);
  return row;
}

async function refuseTakenName(
  tx: Transaction,
  projectId: number,
  name: string,
  except: string | undefined,
): Promise<void> {
  const taken = await tx.alertEndpoint.findUnique({ where: { projectId_name: { projectId, name } } });
  if (taken !== null && taken.id !== except)
    throw new PlimsollError(
      "conflict",
      `There is an endpoint named ${JSON.stringify(name)}. Choose another name.`,
    );
}

/** @throws PlimsollError `bad_request` for an address that is not public and not opened. A name is only known once it is resolved. */
function refuseUnreachable(target: AlertEndpointTarget, open: OpenNetworks): void {
  const { hostname } = new URL(target.kind === "email" ? target.smtp_url : target.url);
  try {
    checkLiteral(/(^|\.)localhost$/i.test(hostname) ? "127.0.0.1" : hostname, open);
  } catch (error) {
    if (error instanceof AddressNotAllowed) throw new PlimsollError("bad_request", error.message);
    throw error;
  }
}

const noEndpoint = (id: string) => new PlimsollError("not_found", `There is no alert endpoint ${id}.`);

const unreadable = () =>
  new PlimsollError(
    "bad_request",
    "This server cannot read the secrets of this endpoint: they were encrypted with another key. Start all servers of this database with the same PLIMSOLL_SECRET, or save the endpoint's target again.",
  );
