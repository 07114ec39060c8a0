import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { AlertAttempt } from "@plimsoll/protocol/api";
import type { Logger } from "pino";
import type { Writers } from "../../db/sql.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import { WorkerLoop } from "../../db/worker-loop.ts";
import type { SecretBox } from "../../secret-box.ts";
import { iso } from "../../times.ts";
import { titleOf } from "../formats/words.ts";
import { attempt } from "./attempt.ts";
import {
  addClaimedDelivery,
  type ClaimedDelivery,
  claimDeliveries,
  type EndpointKey,
  type EndpointRow,
  type LoggedAttempt,
  noteHealth,
  readDueEndpoints,
  readEndpoint,
  readNow,
  sendAttemptRows,
  trimDeliveries,
} from "./delivery-rows.ts";
import { rerouteDelivery } from "./outbox.ts";
import { type DeliveryStep, healthAfter, stepDelivery } from "./retry-schedule.ts";
import type { AttemptOptions } from "./send-request.ts";
import { readAlertmanagers, readStanding } from "./standing-alerts.ts";
import { openSecrets, type StoredSecrets } from "./stored-secrets.ts";

export interface DelivererOptions {
  writers: Writers;
  box: SecretBox;
  /** Where people reach the dashboard, for links. */
  baseUrl: () => string;
  /** Called when a delivery or an endpoint of a project has changed. */
  changed: (projectId: number) => void;
  log: Logger;
  send: AttemptOptions;
  /** The database's time in epoch ms. */
  now?: () => Promise<number>;
  /** From 0 to 1. */
  random?: () => number;
}

/** Milliseconds between two looks for what is due. A look follows each commit that adds a delivery, too. */
const LOOK_EVERY_MS = 2_000;
/** Milliseconds after which another process may attempt what this one has claimed. Longer than an attempt can take. */
const CLAIM_MS = 20_000;
/** Deliveries of one endpoint that are under way at once, each of another group. */
const AT_ONCE = 10;
/** Endpoints at once. A slow one holds up none of the others. */
const ENDPOINTS_AT_ONCE = 100;
const TRIM_EVERY_MS = 600_000;
/** How often an Alertmanager is told of the alerts that fire. Several times before it ends them by itself. */
const STANDING_EVERY_MS = 60_000;

/** Sends what waits in the outbox. Any number of processes may do so at once. */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #busy = new Map<string, Promise<void>>();
  /** Busy endpoints for which something was due at the last look. */
  readonly #missed = new Set<string>();
  readonly #stop = new AbortController();
  readonly #now: () => Promise<number>;
  readonly #loop = new WorkerLoop(async () => {
    await this.look().catch((err: unknown) => this.#report(err));
    await this.#trim().catch((err: unknown) => this.#report(err));
    if (performance.now() - this.#repeatedAt >= STANDING_EVERY_MS) {
      this.#repeatedAt = performance.now();
      // A slow Alertmanager holds up no other endpoint.
      this.#repeating = this.repeatStanding().catch((err: unknown) => this.#report(err));
    }
    return { mostMs: LOOK_EVERY_MS };
  });
  #started = false;
  #trimmedAt = Number.NEGATIVE_INFINITY;
  #repeatedAt = Number.NEGATIVE_INFINITY;
  #repeating = Promise.resolve();

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => readNow(options.writers));
  }

  start(): void {
    this.#started = true;
    this.#loop.wake();
  }

  /** Something may be due. */
  wake(): void {
    if (this.#started) this.#loop.wake();
  }

  /** Ends the attempts that are under way; they are made again. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop.stop();
    await Promise.allSettled([...this.#busy.values(), this.#repeating]);
  }

  /** Looks once for what is due, and begins to send it. */
  async look(): Promise<void> {
    const { writers, box } = this.#options;
    const now = await this.#now();
    for (const key of await readDueEndpoints(writers, box.keyId, now)) {
      if (this.#busy.size >= ENDPOINTS_AT_ONCE || this.#stop.signal.aborted) return;
      const name = `${key.projectId}/${key.endpointId}`;
      if (this.#busy.has(name)) {
        this.#missed.add(name);
        continue;
      }
      const work = this.#deliver(key, now)
        .catch((err: unknown) => this.#report(err, key))
        .finally(() => {
          this.#busy.delete(name);
          // What was added after the last claim, or one of the others that waited for a place.
          if (this.#missed.delete(name) || this.#busy.size === ENDPOINTS_AT_ONCE - 1) this.wake();
        });
      this.#busy.set(name, work);
    }
  }

  /** Tells every Alertmanager once of the alerts that fire. Each process does: the same alert twice is one there. */
  async repeatStanding(): Promise<void> {
    const { writers, box, baseUrl, send } = this.#options;
    const { signal } = this.#stop;
    const keys = await readAlertmanagers(writers, box.keyId);
    const results = await Promise.allSettled(
      keys.map(async (key) => {
        const now = await this.#now();
        const endpoint = await readEndpoint(writers, key);
        const secrets = endpoint && this.#secretsOf(key, endpoint, now);
        if (endpoint === undefined || secrets === undefined) return;
        const { address, projectName } = endpoint;
        let failingSince = endpoint.failingSince ?? undefined;
        for (const notification of await readStanding(writers, key, projectName, now)) {
          const input = { notification, secrets, address, baseUrl: baseUrl(), now };
          const sent = await attempt(input, { ...send, signal });
          signal.throwIfAborted();
          const at = await this.#now();
          const health = healthAfter(failingSince, { outcome: sent.outcome, now: at });
          failingSince = health.failingSince;
          await writers.transaction(async (sql) => noteHealth(sql, key, { ...sent, at }, health));
        }
        if ((failingSince ?? null) !== endpoint.failingSince) this.#options.changed(key.projectId);
      }),
    );
    for (const [index, result] of results.entries())
      if (result.status === "rejected") this.#report(result.reason, keys[index]);
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values());
  }

  /**
   * Sends a notification to one endpoint at once, also if it is paused, and stores it with the others. It is not repeated.
   * @returns undefined if there is no such endpoint, or its secrets cannot be read
   */
  async sendNow(key: EndpointKey, notification: AlertNotification): Promise<AlertAttempt | undefined> {
    const { writers } = this.#options;
    const now = await this.#now();
    const endpoint = await readEndpoint(writers, key);
    const secrets = endpoint && this.#secretsOf(key, endpoint, now);
    if (endpoint === undefined || secrets === undefined) return undefined;
    const entry = { notification, title: titleOf(notification) };
    await addClaimedDelivery(writers, key, entry, { now, until: now + CLAIM_MS });
    const claimed = { id: notification.id, number: 1, before: 0, since: now, body: notification };
    const once = ({ outcome }: LoggedAttempt): DeliveryStep => ({
      state: outcome === "delivered" ? "delivered" : "failed",
    });
    const {
      at,
      status = null,
      durationMs,
      ...rest
    } = await this.#attempt(key, { ...endpoint, secrets }, claimed, now, once);
    return { ...rest, at: iso(at), status, duration_ms: Math.round(durationMs) };
  }

  /**
   * Sends what is due for one endpoint, until nothing is. Another message begins as soon as one is over: a slow answer holds up none.
   * @param lookedAt the database's time a moment ago, epoch ms
   */
  async #deliver(key: EndpointKey, lookedAt: number): Promise<void> {
    const { writers } = this.#options;
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    try {
      for (let now = lookedAt; !this.#stop.signal.aborted && failures.length === 0; now = await this.#now()) {
        // Read each time: it may have been changed or paused.
        const endpoint = await readEndpoint(writers, key);
        const secrets = endpoint && this.#secretsOf(key, endpoint, now);
        if (endpoint === undefined || endpoint.paused || secrets === undefined) break;
        const most = AT_ONCE - underWay.size;
        for (const delivery of await claimDeliveries(writers, key, { now, until: now + CLAIM_MS, most })) {
          const sending: Promise<void> = this.#attempt(
            key,
            { ...endpoint, secrets },
            delivery,
            now,
            ({ outcome, at }, retryAfterMs) => this.#stepOf(delivery, outcome, at, retryAfterMs),
          )
            .then(
              () => {},
              (error: unknown) => void failures.push(error),
            )
            .finally(() => underWay.delete(sending));
          underWay.add(sending);
        }
        if (underWay.size === 0) break;
        await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
    }
    if (failures.length > 0) throw failures[0];
  }

  #stepOf(
    { before, since }: ClaimedDelivery,
    outcome: LoggedAttempt["outcome"],
    now: number,
    retryAfterMs: number | undefined,
  ): DeliveryStep {
    const random = (this.#options.random ?? Math.random)();
    return stepDelivery({ outcome, retryAfterMs, number: before + 1, since, now, random });
  }

  async #attempt(
    key: EndpointKey,
    { address, failingSince, secrets }: EndpointRow & { secrets: StoredSecrets },
    { id, number, body }: ClaimedDelivery,
    now: number,
    next: (attempt: LoggedAttempt, retryAfterMs: number | undefined) => DeliveryStep,
  ): Promise<LoggedAttempt> {
    const { writers, baseUrl, send, changed } = this.#options;
    const { signal } = this.#stop;
    const started = performance.now();
    const input = { notification: body, secrets, address, baseUrl: baseUrl(), now };
    const { retryAfterMs, ...sent } = await attempt(input, { ...send, signal });
    // What a stop has cut off is no failure of the endpoint. Whoever claims it next makes the attempt again.
    if (sent.outcome !== "delivered") signal.throwIfAborted();
    const logged = { ...sent, number, at: await this.#now(), durationMs: performance.now() - started };
    const step = next(logged, retryAfterMs);
    const health = healthAfter(failingSince ?? undefined, { outcome: sent.outcome, now: logged.at });
    const isLost = step.state === "failed" && body.kind !== "test";
    await writers.transaction(async (sql) => {
      sendAttemptRows(sql, key, id, logged, { step, health });
      if (isLost) await rerouteDelivery(sql, key.projectId, key.endpointId, body);
    });
    changed(key.projectId);
    if (isLost) this.wake();
    return logged;
  }

  /** @returns undefined if they were encrypted with another key */
  #secretsOf(
    { projectId, endpointId }: EndpointKey,
    { sealed, previousSecretUntil }: EndpointRow,
    now: number,
  ): StoredSecrets | undefined {
    const secrets = openSecrets(this.#options.box, projectId, endpointId, sealed);
    if (secrets === undefined) return undefined;
    const isOldValid = previousSecretUntil !== null && now < previousSecretUntil;
    return { ...secrets, signing: secrets.signing.slice(0, isOldValid ? 2 : 1) };
  }

  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAt < TRIM_EVERY_MS) return;
    this.#trimmedAt = performance.now();
    const { writers } = this.#options;
    const now = await this.#now();
    const rows = await writers.query<{ id: number }>("SELECT DISTINCT project_id AS id FROM alert_endpoints");
    for (const { id } of rows)
      while (await trimDeliveries(writers, id, now)) this.#stop.signal.throwIfAborted();
  }

  #report(err: unknown, key?: EndpointKey): void {
    if (this.#stop.signal.aborted) return;
    const level = isUnavailable(err) ? "debug" : "warn";
    this.#options.log[level]({ err, ...key }, "alerts could not be delivered; trying again");
  }
}
