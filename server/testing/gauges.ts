import type { ProjectGauges } from "../http/metrics.ts";

/** The figures of a project in which nothing has happened. */
export const EMPTY_GAUGES: ProjectGauges = {
  fleet: {
    agents: [],
    live: 0,
    atLoad: [],
    boundaries: [],
    sessionsPastWarning: 0,
    harnesses: [],
    cost: { reported: 0, estimated: 0, unpricedTurns: 0 },
    quotas: [],
    rejected: 0,
    backlog: { events: 0, ageMs: 0 },
    contested: [],
  },
  policies: [],
  alerts: { endpoints: [], rules: 0, evaluationAgeMs: undefined, open: [] },
};
