import {
  catalogWindow,
  lookupByName,
  ObservedWindows,
  type ThresholdTimeline,
  type WindowLookup,
  type WindowLookups,
} from "@plimsoll/fold";
import { LRUCache } from "lru-cache";
import type { Sql } from "../../db/sql.ts";
import { type AgentRow, agents } from "../../db/tables/agents.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import type { ReportedMark } from "../../db/tables/boundaries.ts";
import { eventKey, modelNumber } from "../../db/tables/identity.ts";
import { models } from "../../db/tables/models.ts";
import { readObservedWindows } from "../../db/tables/observed-windows.ts";
import { NEWEST_PACKED } from "../../db/tables/packed-minutes.ts";
import { unpackStored } from "../../db/tables/packed-state.ts";
import { QUOTA_KEY } from "../../db/tables/quota-percents.ts";
import { dayOf, MOST_MODELS, OTHER } from "../../db/tables/rollup-names.ts";
import { sessions } from "../../db/tables/sessions.ts";
import { addAcknowledgements, type HarnessAcks, readAcknowledgements } from "../../lines/acknowledgements.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import type { KnownAgent } from "../plan/agent-changes.ts";
import type { ArrivedQuota } from "../plan/arrived-quotas.ts";
import type { ArrivedHarness, ArrivedMachine } from "../plan/group-events.ts";
import { KnownKeys } from "../plan/known-keys.ts";
import type { KnownSession } from "../plan/plan-session.ts";
import { type Tail, tailKilobytes } from "../plan/tail.ts";
import { NewRows } from "./new-rows.ts";
import { RollupNames } from "./rollup-names.ts";

/** Agents, and sessions, remembered. */
const REMEMBERED = 10_000;
/** An agent without its keys. */
const AGENT_BYTES = 3_000;
/** Of all agents together: so many agents, and the keys of some 8 million turns. */
const AGENT_BYTES_IN_ALL = REMEMBERED * AGENT_BYTES + 64 * 1_024 * 1_024;
/** All tails together, and one of them, in kB. */
const TAIL_KB_IN_ALL = 150_000;
const TAIL_KB = 8_192;

/** Limits of accounts in a project. A sender that makes up names of limits gets no more. */
export const MOST_QUOTAS = 500;

/** Agents whose keys one statement reads. */
const KEYS_OF_AGENTS = 200;

/**
 * What the projector of a project remembers of what it wrote. Nobody else writes these rows, so they need not be read
 * again; each row's version proves it when the row is written.
 */
export class ProjectMemory {
  readonly projectId: number;
  readonly agents: LRUCache<string, KnownAgent>;
  readonly sessions: LRUCache<string, KnownSession>;
  /**
   * Of agents that were late before: the others would keep events in memory for nothing. A tail that is too large is not
   * kept; late events of its agent are folded from the database.
   */
  readonly tails = new LRUCache<string, Tail>({
    max: REMEMBERED,
    maxSize: TAIL_KB_IN_ALL,
    maxEntrySize: TAIL_KB,
    sizeCalculation: tailKilobytes,
  });
  readonly rollupNames: RollupNames;
  /** The harness instances under which a session is stored; see shared-sessions.ts. */
  readonly instances = new LRUCache<string, readonly string[]>({ max: REMEMBERED });
  policy = PolicyBook.empty;
  /** Window sizes that the harnesses of the project reported. */
  observed = new ObservedWindows();
  /** The newest hour with packed minutes, epoch ms. */
  packedTo = Number.NEGATIVE_INFINITY;
  /** By harness instance. */
  readonly #acks = new LRUCache<string, HarnessAcks>({ max: REMEMBERED });
  /** Ids of harness instances that have a row. */
  readonly #harnesses = new LRUCache<string, true>({ max: REMEMBERED });
  readonly #newModels = new NewRows();
  readonly #newHarnesses = new NewRows();
  /** Names of machines that have a row. */
  readonly #machines = new LRUCache<string, true>({ max: REMEMBERED });
  readonly #newMachines = new NewRows();
  /** Limits of accounts that have rows. */
  readonly #quotas = new Set<string>();
  readonly #modelIds = new Map<string, number>();
  readonly #modelNames = new Map<number, string>();
  readonly #windows = new Map<string, number>();
  #configured: WindowLookup | undefined;
  #lastNumber = 0;

  private constructor(projectId: number, remembered: number) {
    this.projectId = projectId;
    this.rollupNames = new RollupNames(projectId);
    this.agents = new LRUCache({
      max: remembered,
      maxSize: AGENT_BYTES_IN_ALL,
      sizeCalculation: ({ keys }) => AGENT_BYTES + keys.bytes,
    });
    this.sessions = new LRUCache({ max: remembered });
  }

  /**
   * Reads what every chunk needs.
   * @param remembered the most agents, and the most sessions, that stay in memory
   */
  static async open(
    sql: Pick<Sql, "query">,
    projectId: number,
    remembered = REMEMBERED,
  ): Promise<ProjectMemory> {
    const memory = new ProjectMemory(projectId, remembered);
    const [policy, observed, stored, windows, newHarnesses, newMachines, quotas, [last], [packed]] =
      await Promise.all([
        PolicyBook.read(sql, projectId),
        readObservedWindows(sql, projectId),
        sql.query<Record<string, unknown>>(
          `SELECT ${models.select("t")} FROM models t WHERE t.project_id = $1`,
          projectId,
        ),
        sql.query<{ model: string; tokens: number }>(
          "SELECT model, tokens FROM model_windows WHERE project_id = $1",
          projectId,
        ),
        sql.query<{ day: number; rows: number }>(NEW_HARNESSES, projectId),
        sql.query<{ day: number; rows: number }>(NEW_MACHINES, projectId),
        sql.query<QuotaKey>(FIND_QUOTAS, projectId),
        sql.query<{ number: number | null }>(
          "SELECT max(number) AS number FROM agents WHERE project_id = $1",
          projectId,
        ),
        sql.query<{ hour: number | null }>(NEWEST_PACKED, projectId),
      ]);
    memory.policy = policy;
    memory.observed = observed;
    for (const row of stored) {
      const { id, name, addedAt } = models.parse(row);
      memory.#keepModel(name, id);
      memory.#newModels.add(dayOf(addedAt));
    }
    for (const { day, rows } of newHarnesses) memory.#newHarnesses.add(day, rows);
    for (const { day, rows } of newMachines) memory.#newMachines.add(day, rows);
    for (const key of quotas) memory.#quotas.add(quotaName(key));
    for (const { model, tokens } of windows) memory.#windows.set(model, tokens);
    memory.#lastNumber = last?.number ?? 0;
    memory.packedTo = packed?.hour ?? Number.NEGATIVE_INFINITY;
    return memory;
  }

  /**
   * Returns the stored agents by id; reads those that are not remembered. A chunk must use the result: loading more agents
   * than the memory holds evicts some of them.
   */
  async loadAgents(sql: Pick<Sql, "query">, ids: readonly string[]): Promise<Map<string, KnownAgent>> {
    const { known, missing } = split(this.agents, ids);
    if (missing.length === 0) return known;
    const keys = missing.map((id) => ({ id }));
    const { text, values } = agents.find(this.projectId, keys);
    const found = (await sql.query<Record<string, unknown>>(text, ...values)).map((raw) => agents.parse(raw));
    for (let from = 0; from < found.length; from += KEYS_OF_AGENTS) {
      const rows = found.slice(from, from + KEYS_OF_AGENTS);
      const keys = await this.#readKeys(sql, rows);
      for (const { state, ...row } of rows) {
        const stored = state === undefined ? undefined : unpackStored(state);
        const agent = { row: { ...row, state: undefined }, stored, keys: keys.get(row.number)! };
        this.agents.set(row.id, agent);
        known.set(row.id, agent);
      }
    }
    return known;
  }

  /** Reads the keys of the agents' turns and marks. By the number of the agent. */
  async #readKeys(
    sql: Pick<Sql, "query">,
    rows: readonly Pick<AgentRow, "id" | "number">[],
  ): Promise<Map<number, KnownKeys>> {
    const keys = new Map(rows.map(({ number }) => [number, KnownKeys.empty()]));
    const numbers = new Map(rows.map(({ id, number }) => [id, number]));
    const [turns, marks] = await Promise.all([
      sql.query<PackedKeys>(FIND_KEYS, this.projectId, [...keys.keys()]),
      sql.query<MarkId>(FIND_MARKS, this.projectId, [...numbers.keys()]),
    ]);
    for (const { agent, packed } of turns) keys.set(agent, keys.get(agent)!.addPacked(packed));
    for (const { agent_id, id } of marks) {
      const agent = numbers.get(agent_id)!;
      keys.set(agent, keys.get(agent)!.add([eventKey(id)]));
    }
    return keys;
  }

  /** Forgets agents that were removed, and their sessions. */
  forgetAgents(sessions: readonly string[], agents: readonly string[]): void {
    for (const id of sessions) this.sessions.delete(id);
    for (const id of agents) {
      this.agents.delete(id);
      this.tails.delete(id);
    }
  }

  /** Returns the stored sessions by id; see `loadAgents`. */
  async loadSessions(sql: Pick<Sql, "query">, ids: readonly string[]): Promise<Map<string, KnownSession>> {
    const { known, missing } = split(this.sessions, ids);
    if (missing.length === 0) return known;
    const found = await sql.query<Record<string, unknown> & SessionExtras>(
      FIND_SESSIONS,
      this.projectId,
      missing,
    );
    for (const { main_name, main_parent, main_first_ms, ended_ms, ...raw } of found) {
      const row = sessions.parse(raw);
      const main =
        row.mainAgent === undefined || main_name === null
          ? undefined
          : {
              id: row.mainAgent,
              name: main_name,
              parent: main_parent ?? undefined,
              firstAt: main_first_ms!,
            };
      const session = { row, main, endedAt: ended_ms ?? undefined };
      this.sessions.set(row.id, session);
      known.set(row.id, session);
    }
    return known;
  }

  /** Reads what harness instances acknowledged, unless it is remembered. Returns how their agents are judged. */
  async loadTimelines(
    sql: Pick<Sql, "query">,
    harnesses: Iterable<string>,
  ): Promise<(harness: string) => ThresholdTimeline> {
    const { known, missing } = split(this.#acks, [...new Set(harnesses)]);
    for (const [harness, acks] of await readAcknowledgements(sql, this.projectId, missing)) {
      this.#acks.set(harness, acks);
      known.set(harness, acks);
    }
    return (harness) => this.policy.timelineOf(harness, known.get(harness)!.acks);
  }

  /** Remembers acknowledgements that arrived. Returns the earliest time (epoch ms) at which they change something. */
  async acknowledge(
    sql: Pick<Sql, "query">,
    harness: string,
    marks: Iterable<ReportedMark>,
  ): Promise<number | undefined> {
    await this.loadTimelines(sql, [harness]);
    const added = addAcknowledgements(this.#acks.get(harness)!, marks);
    if (added !== undefined) this.#acks.set(harness, added.acks);
    return added?.from;
  }

  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /**
   * The name that turns of a model are stored under: its own, or `OTHER` if the project or the day has no room for it.
   * @param receivedAt of a turn, epoch ms
   * @param perDay most new models of a day
   */
  admitModel(name: string, receivedAt: number, perDay: number): string {
    if (this.#modelIds.has(name)) return name;
    if (name !== OTHER) {
      const day = dayOf(receivedAt);
      if (this.#modelIds.size >= MOST_MODELS || this.#newModels.of(day) >= perDay)
        return this.admitModel(OTHER, receivedAt, perDay);
      this.#newModels.add(day);
    }
    this.modelId(name);
    return name;
  }

  /**
   * Leaves out new harness instances beyond the day's limit. Returns the others, and the ids of those to describe from
   * their events.
   * @param perDay most new instances of a day
   */
  async admitHarnesses(
    sql: Pick<Sql, "query">,
    arrived: readonly ArrivedHarness[],
    perDay: number,
  ): Promise<{ admitted: ArrivedHarness[]; described: string[] }> {
    const unknown = arrived.filter(({ id }) => !this.#harnesses.has(id)).map(({ id }) => id);
    const found =
      unknown.length === 0
        ? []
        : await sql.query<{ id: string }>(FIND_HARNESSES, this.projectId, arrayLiteral(unknown));
    const stored = new Set(found.map(({ id }) => id));
    const admitted: ArrivedHarness[] = [];
    const described: string[] = [];
    for (const harness of arrived) {
      const { id, receivedAt } = harness;
      const isNew = !this.#harnesses.has(id) && !stored.has(id);
      const day = dayOf(receivedAt);
      if (isNew && this.#newHarnesses.of(day) >= perDay) continue;
      if (isNew) this.#newHarnesses.add(day);
      this.#harnesses.set(id, true);
      admitted.push(harness);
      // A new row may come after events that describe it.
      if (harness.described || isNew) described.push(id);
    }
    return { admitted, described };
  }

  /**
   * Leaves out new machines beyond the day's limit.
   * @param perDay most new machines of a day
   */
  async admitMachines(
    sql: Pick<Sql, "query">,
    arrived: readonly ArrivedMachine[],
    perDay: number,
  ): Promise<ArrivedMachine[]> {
    const unknown = arrived.filter(({ name }) => !this.#machines.has(name)).map(({ name }) => name);
    const found =
      unknown.length === 0 ? [] : await sql.query<{ name: string }>(FIND_MACHINES, this.projectId, unknown);
    for (const { name } of found) this.#machines.set(name, true);
    return arrived.filter(({ name, lastReceivedAt }) => {
      if (this.#machines.has(name)) return true;
      const day = dayOf(lastReceivedAt);
      if (this.#newMachines.of(day) >= perDay) return false;
      this.#newMachines.add(day);
      this.#machines.set(name, true);
      return true;
    });
  }

  /** Leaves out readings of limits beyond `MOST_QUOTAS`. */
  admitQuotas(arrived: readonly ArrivedQuota[]): ArrivedQuota[] {
    return arrived.filter((row) => {
      const name = quotaName(row);
      if (!this.#quotas.has(name) && this.#quotas.size >= MOST_QUOTAS) return false;
      this.#quotas.add(name);
      return true;
    });
  }

  /** The number of a model; the same in every process, because it is derived from the name. */
  modelId(name: string): number {
    const known = this.#modelIds.get(name);
    if (known !== undefined) return known;
    for (let attempt = 0; ; attempt++) {
      const id = modelNumber(name, attempt);
      // Two names with one hash: the second takes its next number.
      if (this.#modelNames.has(id)) continue;
      this.#keepModel(name, id);
      return id;
    }
  }

  readonly modelName = (id: number): string => {
    const name = this.#modelNames.get(id);
    if (name === undefined) throw new Error(`model ${id} of project ${this.projectId} is not known`);
    return name;
  };

  get modelsKnown(): Iterable<[name: string, id: number]> {
    return this.#modelIds;
  }

  setWindow(model: string, tokens: number | null): void {
    if (tokens === null) this.#windows.delete(model);
    else this.#windows.set(model, tokens);
    this.#configured = undefined;
  }

  /** How the windows of a harness' models are resolved. */
  lookupsOf(harness: string): WindowLookups {
    return {
      configured: (model) => {
        this.#configured ??= lookupByName(this.#windows);
        return this.#configured(model);
      },
      observed: (model) => this.observed.ask(harness, model),
      catalog: catalogWindow,
    };
  }

  #keepModel(name: string, id: number): void {
    this.#modelIds.set(name, id);
    this.#modelNames.set(id, name);
  }
}

type QuotaKey = Pick<ArrivedQuota, (typeof QUOTA_KEY)[number]>;

const quotaName = (key: QuotaKey) => QUOTA_KEY.map((part) => key[part]).join("\u0000");

const FIND_QUOTAS = `
SELECT DISTINCT q.owner_kind AS "ownerKind", q.owner, q.provider, q.name, q.window_minutes AS "windowMinutes"
FROM quota_percents q WHERE q.project_id = $1`;
const FIND_HARNESSES = "SELECT h.id FROM harnesses h WHERE h.project_id = $1 AND h.id = ANY($2::uuid[])";
const FIND_MACHINES = "SELECT m.name FROM machines m WHERE m.project_id = $1 AND m.name = ANY($2::text[])";
const NEW_MACHINES = `
SELECT (extract(epoch FROM date_trunc('day', m.first_received_at, 'UTC')) * 1000)::float8 AS day,
  count(*)::float8 AS rows
FROM machines m WHERE m.project_id = $1 AND m.first_received_at > now() - interval '2 days' GROUP BY 1`;
const NEW_HARNESSES = `
SELECT (extract(epoch FROM date_trunc('day', h.added_at, 'UTC')) * 1000)::float8 AS day, count(*)::float8 AS rows
FROM harnesses h WHERE h.project_id = $1 AND h.added_at > now() - interval '2 days' GROUP BY 1`;

/** Separates what a cache holds from what has to be read. */
function split<Value extends object>(
  cache: LRUCache<string, Value>,
  ids: readonly string[],
): { known: Map<string, Value>; missing: string[] } {
  const known = new Map<string, Value>();
  const missing: string[] = [];
  for (const id of ids) {
    const value = cache.get(id);
    if (value === undefined) missing.push(id);
    else known.set(id, value);
  }
  return { known, missing };
}

interface PackedKeys {
  agent: number;
  packed: Uint8Array;
}

const FIND_KEYS =
  "SELECT b.agent, b.keys AS packed FROM turn_blocks b WHERE b.project_id = $1 AND b.agent = ANY($2::int4[])";

interface MarkId {
  agent_id: string;
  id: string;
}

const FIND_MARKS =
  "SELECT b.agent_id, b.id FROM boundaries b WHERE b.project_id = $1 AND b.agent_id = ANY($2::uuid[])";

interface SessionExtras {
  main_name: string | null;
  main_parent: string | null;
  main_first_ms: number | null;
  ended_ms: number | null;
}

const FIND_SESSIONS = `
SELECT ${sessions.select("t")}, m.name AS main_name, m.parent AS main_parent,
  (extract(epoch FROM m.first_at) * 1000)::float8 AS main_first_ms,
  (extract(epoch FROM t.ended_at) * 1000)::float8 AS ended_ms
FROM sessions t LEFT JOIN agents m ON m.project_id = $1 AND m.id = t.main_agent
WHERE t.project_id = $1 AND t.id = ANY($2::uuid[])`;
