// Sends load from a process of its own, so that the measured event loop does not do this work.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { type Answer, LoadConnection, requestBytes } from "./connection.ts";
import type { FleetShape } from "./fleet.ts";
import { percentileOf } from "./measurement.ts";
import { otlpBody } from "./otlp-body.ts";
import { type Shift, sliceAt } from "./shift.ts";
import { eventsOf, type Traffic } from "./traffic.ts";

export interface LoadTarget {
  port: number;
  key: string;
}

/** `otlp` sends turns as spans in protobuf. */
export type LoadFormat = "events" | "otlp";

export interface Job {
  /** Connection n sends to target n; the targets repeat if there are more connections. */
  targets: readonly LoadTarget[];
  fleet: FleetShape;
  traffic?: Traffic;
  /** Events a request. With 1 the body is a bare event. */
  batch: number;
  /** JSON events by default. */
  format?: LoadFormat;
  /** Most requests, over all connections. */
  requests: number;
  /** Makes the requests before the start, so that measuring includes no work for them. */
  ready: boolean;
  /** Milliseconds before the counted part. */
  warmUp: number;
  /** Milliseconds of the counted part. The run ends after it, or when the requests are used up. */
  counted: number;
  /**
   * Milliseconds a sender waits for an answer. It then closes the connection and sends the request again. Without this,
   * a missing answer ends the run. A request that was refused is always sent again after the time in `Retry-After`.
   */
  patience?: number;
  /** Sends all requests, also after a connection has none left. Nothing is measured then. */
  toEnd?: boolean;
  /** Milliseconds between two requests of a connection. Without this, each follows at once on the answer before. */
  interval?: number;
  /** Takes turns with another load. It sends only after a message, once both have made their requests. */
  shift?: Shift;
}

/** Sent when the requests are made, when the counted part begins and when it ends. */
export type LoadPhase = "made" | "counting" | "counted";

export interface LoadReport {
  /** Length of the counted part. */
  seconds: number;
  /** Requests answered in the counted part. */
  requests: number;
  /** Events acknowledged in the counted part. */
  events: number;
  /** Events accepted in the whole run. */
  accepted: number;
  /** Milliseconds from sending a request to its answer. */
  p50: number;
  p95: number;
  p99: number;
  max: number;
  /** Milliseconds from sending a request for the first time to its acknowledgement. */
  deliveredP99: number;
  /** Requests in the whole run that were refused, and that got no answer in time. */
  refused: number;
  timeouts: number;
  /** Events acknowledged in the slowest whole second of the counted part. */
  slowestSecond: number;
  /** With a `shift`: events acknowledged in the counted part, by slice. */
  bySlice: Readonly<Record<number, number>>;
  /** Share of one core that this process used. */
  cpu: number;
}

/** A request and the position of its last event; see traffic.ts. */
interface Made {
  bytes: Buffer;
  position: number;
}

/**
 * Keeps connections that share agents at about the same time of the fleet. Which events a connection gets is random, so one
 * that got fewer of them would otherwise run further and further ahead of the others.
 */
class Step {
  /** Positions of the requests that are under way or next, by connection. */
  readonly #positions: number[];
  readonly #ahead: number;
  #waiting: (() => void)[] = [];
  #ended = false;

  /** `ahead` is how many events a connection may be ahead of the slowest. Without connections, nobody waits. */
  constructor(connections: number, ahead: number) {
    this.#positions = Array.from({ length: connections }, () => 0);
    this.#ahead = ahead;
  }

  /** Resolves when the connection may send the request that ends at this position. */
  async next(connection: number, position: number): Promise<void> {
    if (this.#positions.length === 0) return;
    this.#positions[connection] = position;
    for (const resolve of this.#waiting.splice(0)) resolve();
    while (!this.#ended && position > Math.min(...this.#positions) + this.#ahead) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  end(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Most bytes of requests made ahead. */
const READY_BYTES = 2_000_000_000;
const PATHS: Readonly<Record<LoadFormat, string>> = { events: "/api/v1/events", otlp: "/otlp/v1/traces" };

class Load {
  readonly #job: Job;
  readonly #make: (connection: number) => Made;
  readonly #expected: string;
  #open: LoadConnection[] = [];
  #state: "warming" | LoadPhase = "warming";
  #from = Number.NaN;
  #until = Number.NaN;
  #cpu: NodeJS.CpuUsage | undefined;
  readonly #latencies: number[] = [];
  readonly #deliveries: number[] = [];
  readonly #bySecond: number[] = [];
  readonly #bySlice: Record<number, number> = {};
  #events = 0;
  #accepted = 0;
  #refused = 0;
  #timeouts = 0;
  readonly #step: Step;

  constructor(job: Job) {
    this.#job = job;
    const { next, position } = eventsOf(job.fleet, job.traffic);
    const { connections } = job.fleet;
    this.#step = new Step(job.traffic?.shared ? connections : 0, connections * job.batch);
    const { batch, format = "events" } = job;
    this.#expected = format === "otlp" ? "" : JSON.stringify({ accepted: batch, rejected: [] });
    this.#make = (connection) => {
      const events = Array.from({ length: batch }, () => next(connection));
      const json = batch === 1 ? events[0]! : `[${events.join(",")}]`;
      const body = format === "otlp" ? otlpBody(events) : json;
      const bytes = requestBytes({ ...this.#target(connection), path: PATHS[format], body });
      return { bytes, position: position(connection) };
    };
  }

  async run(): Promise<LoadReport> {
    const { connections } = this.#job.fleet;
    const share = Math.ceil(this.#job.requests / connections);
    const ready = this.#job.ready ? this.#makeReady(connections, share) : undefined;
    process.send?.("made" satisfies LoadPhase);
    if (this.#job.shift !== undefined) await once(process, "message");
    this.#open = await Promise.all(
      Array.from({ length: connections }, (_, connection) => this.#connect(connection)),
    );
    const timers: NodeJS.Timeout[] = [];
    if (this.#job.warmUp === 0) this.#begin();
    else timers.push(setTimeout(() => this.#begin(), this.#job.warmUp));
    timers.push(setTimeout(() => this.#finish(), this.#job.warmUp + this.#job.counted));
    try {
      await Promise.all(
        this.#open.map((_, connection) => this.#drive(connection, share, ready?.[connection])),
      );
      this.#finish();
    } finally {
      for (const timer of timers) clearTimeout(timer);
      for (const connection of this.#open) connection.close();
    }
    return this.#report();
  }

  #target(connection: number): LoadTarget {
    const { targets } = this.#job;
    return targets[connection % targets.length]!;
  }

  #connect(connection: number): Promise<LoadConnection> {
    return LoadConnection.open(this.#target(connection).port, this.#job.patience);
  }

  #makeReady(connections: number, share: number): Made[][] {
    const ready: Made[][] = Array.from({ length: connections }, () => []);
    let bytes = 0;
    for (let sent = 0; sent < share && bytes < READY_BYTES; sent++) {
      for (const [connection, requests] of ready.entries()) {
        const request = this.#make(connection);
        bytes += request.bytes.length;
        requests.push(request);
      }
    }
    return ready;
  }

  #begin(): void {
    this.#state = "counting";
    this.#from = performance.now();
    this.#cpu = process.cpuUsage();
    process.send?.("counting" satisfies LoadPhase);
  }

  #finish(): void {
    if (this.#state === "counted") return;
    if (this.#state === "warming") throw new Error("The requests were used up before the counted part.");
    this.#state = "counted";
    this.#until = performance.now();
    this.#cpu = process.cpuUsage(this.#cpu);
    process.send?.("counted" satisfies LoadPhase);
  }

  async #drive(connection: number, share: number, ready: readonly Made[] | undefined): Promise<void> {
    const { interval, fleet } = this.#job;
    const from = performance.now() + ((interval ?? 0) * connection) / fleet.connections;
    for (let sent = 0; sent < share && this.#state !== "counted"; sent++) {
      const request = ready === undefined ? this.#make(connection) : ready[sent];
      if (request === undefined) break;
      await this.#step.next(connection, request.position);
      if (interval !== undefined) await sleep(Math.max(0, from + sent * interval - performance.now()));
      await this.#ownSlice();
      const started = performance.now();
      const accepted = await this.#deliver(connection, request.bytes);
      this.#accepted += accepted;
      if (this.#state !== "counting") continue;
      this.#events += accepted;
      const now = performance.now();
      this.#deliveries.push(now - started);
      const second = Math.floor((now - this.#from) / 1_000);
      this.#bySecond[second] = (this.#bySecond[second] ?? 0) + accepted;
      if (this.#job.shift === undefined) continue;
      const slice = sliceAt(this.#job.shift.slice, Date.now());
      this.#bySlice[slice] = (this.#bySlice[slice] ?? 0) + accepted;
    }
    this.#step.end();
    // The load is smaller once a connection has no requests left, so nothing after this counts.
    if (!this.#job.toEnd) this.#finish();
  }

  /** Resolves while it is this load's turn. */
  async #ownSlice(): Promise<void> {
    const { shift } = this.#job;
    if (shift === undefined) return;
    for (;;) {
      const now = Date.now();
      if ((sliceAt(shift.slice, now) % 2 === 1) === shift.odd) return;
      await sleep(shift.slice - (now % shift.slice));
    }
  }

  /** Returns how many events were accepted; 0 if the run ended before the request was answered. */
  async #deliver(connection: number, request: Buffer): Promise<number> {
    for (;;) {
      const started = performance.now();
      const answer = await this.#send(connection, request);
      if (answer !== undefined && this.#state === "counting") {
        this.#latencies.push(performance.now() - started);
      }
      if (answer?.status === 200) return this.#acceptedOf(answer);
      const refused = answer?.status === 503 || answer?.status === 429;
      if (answer !== undefined && !refused) {
        throw new Error(`The server answered ${answer.status}: ${answer.body.slice(0, 300)}`);
      }
      if (this.#state === "counted") return 0;
      if (refused) {
        this.#refused += 1;
        await sleep((answer?.retryAfter ?? 1) * 1_000);
      }
    }
  }

  /** Undefined if there was no answer in time; the connection is a new one then. */
  async #send(connection: number, request: Buffer): Promise<Answer | undefined> {
    try {
      return await this.#open[connection]!.send(request);
    } catch (error) {
      if (this.#job.patience === undefined) throw error;
      this.#timeouts += 1;
      this.#open[connection]!.close();
      this.#open[connection] = await this.#connect(connection);
      return undefined;
    }
  }

  #acceptedOf({ body }: Answer): number {
    // Comparing text costs less than parsing JSON.
    if (body === this.#expected) return this.#job.batch;
    const { accepted, rejected } = JSON.parse(body) as IngestAnswer;
    if (rejected[0] !== undefined) throw new Error(`An event was rejected: ${JSON.stringify(rejected[0])}`);
    return accepted;
  }

  #report(): LoadReport {
    const seconds = (this.#until - this.#from) / 1_000;
    const latencies = this.#latencies;
    const wholeSeconds = Array.from(
      { length: Math.floor(seconds) },
      (_, second) => this.#bySecond[second] ?? 0,
    );
    return {
      seconds,
      requests: latencies.length,
      events: this.#events,
      accepted: this.#accepted,
      p50: percentileOf(latencies, 0.5),
      p95: percentileOf(latencies, 0.95),
      p99: percentileOf(latencies, 0.99),
      max: latencies.at(-1) ?? Number.NaN,
      deliveredP99: percentileOf(this.#deliveries, 0.99),
      refused: this.#refused,
      timeouts: this.#timeouts,
      slowestSecond: wholeSeconds.length === 0 ? 0 : Math.min(...wholeSeconds),
      bySlice: this.#bySlice,
      cpu: (this.#cpu!.user + this.#cpu!.system) / 1e6 / seconds,
    };
  }
}

process.once("message", (job: Job) => {
  new Load(job).run().then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
// Nobody is left to send for.
process.on("disconnect", () => process.exit(0));
await sleep(0);
process.send?.("ready");
