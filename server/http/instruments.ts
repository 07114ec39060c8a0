import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { CertificateState } from "../certificate.ts";

/** What the server counts about itself. Values of this process alone. */
export interface Instruments {
  registry: Registry;
  /** One answered request. `route` is one of few names, never a path. */
  request(route: string, status: number, seconds: number): void;
  /** Events by what became of them: accepted, duplicate, or the code of the rejection. */
  events(outcome: string, count: number): void;
  /** One group commit: how many events it took, and how long until COMMIT returned. */
  commit(events: number, seconds: number): void;
  /** Sets what is read at each scrape. */
  watch(watched: Watched): void;
  liveClients(count: number): void;
}

export interface Watched {
  /** Events waiting for their commit. */
  depth(): number;
  /** Ids of the projects whose queue is full. */
  fullProjects(): readonly number[];
  /** Bytes of request bodies in memory. */
  bodyBytes(): number;
  /** Absent without TLS. */
  certificate?: (() => CertificateState) | undefined;
}

export function createInstruments(): Instruments {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];

  const requests = new Histogram({
    name: "plimsoll_http_request_duration_seconds",
    help: "From a request's headers to the end of its answer.",
    labelNames: ["route", "status"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const outcomes = new Counter({
    name: "plimsoll_ingest_events_total",
    help: "Events received, by what became of them.",
    labelNames: ["outcome"],
    registers,
  });
  const commitSize = new Histogram({
    name: "plimsoll_ingest_commit_events",
    help: "Events written by one group commit.",
    buckets: [1, 5, 10, 50, 100, 500, 1000, 2500, 5000, 10000],
    registers,
  });
  const commitTime = new Histogram({
    name: "plimsoll_ingest_commit_duration_seconds",
    help: "One group commit, from BEGIN to the answer to COMMIT.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  let watched: Watched = { depth: () => 0, fullProjects: () => [], bodyBytes: () => 0 };
  new Gauge({
    name: "plimsoll_ingest_queue_events",
    help: "Events waiting for their commit.",
    registers,
    collect() {
      this.set(watched.depth());
    },
  });
  new Gauge({
    name: "plimsoll_ingest_queue_full",
    help: "1 for each project whose queue is full.",
    labelNames: ["project_id"],
    registers,
    collect() {
      this.reset();
      for (const id of watched.fullProjects()) this.set({ project_id: id }, 1);
    },
  });
  new Gauge({
    name: "plimsoll_ingest_body_bytes",
    help: "Bytes of event bodies in memory, as they came and as they were decompressed.",
    registers,
    collect() {
      this.set(watched.bodyBytes());
    },
  });
  const ofCertificate = (name: string, help: string, value: (state: CertificateState) => number) =>
    new Gauge({
      name: `plimsoll_tls_certificate_${name}`,
      help: `${help} Absent without TLS.`,
      registers,
      collect() {
        const state = watched.certificate?.();
        if (state === undefined) this.remove();
        else this.set(value(state));
      },
    });
  ofCertificate(
    "expires_timestamp_seconds",
    "When the certificate in use expires.",
    ({ expiresAt }) => expiresAt / 1_000,
  );
  ofCertificate(
    "refused",
    "1 if the files cannot be used, so that an older certificate still is.",
    ({ fault }) => Number(fault !== undefined),
  );
  const live = new Gauge({
    name: "plimsoll_live_clients",
    help: "Clients connected to the live stream.",
    registers,
  });

  // Looking a child up by its labels costs more than counting with it.
  const requestsBy = new Map<string, { observe(seconds: number): void }>();
  const outcomesBy = new Map<string, { inc(count: number): void }>();

  return {
    registry,
    request(route, status, seconds) {
      const key = `${route} ${status}`;
      let child = requestsBy.get(key);
      if (!child) {
        child = requests.labels(route, String(status));
        requestsBy.set(key, child);
      }
      child.observe(seconds);
    },
    events(outcome, count) {
      let child = outcomesBy.get(outcome);
      if (!child) {
        child = outcomes.labels(outcome);
        outcomesBy.set(outcome, child);
      }
      child.inc(count);
    },
    commit(events, seconds) {
      commitSize.observe(events);
      commitTime.observe(seconds);
    },
    watch(meant) {
      watched = meant;
    },
    liveClients: (count) => live.set(count),
  };
}
