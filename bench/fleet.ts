import { seededRandom } from "../examples/large-fleet/random.ts";

/**
 * A simulated fleet. The same seed gives the same events. It writes their text itself: the agents of the examples take ten
 * times as long, on the cores that are measured.
 */
export interface FleetShape {
  connections: number;
  /** Sessions at work at once, over all connections. */
  sessions: number;
  /** Most turns in total; with `spacing` and `end` this gives the time of the first turn. */
  turns: number;
  /** Milliseconds between two turns of a session, on average. */
  spacing: number;
  /** Agents a session. By default every third session has two agents and the others have one. */
  agents?: number;
  /** Puts all agents into one session: each of `sessions` is then a part of it. */
  oneSession?: boolean;
  /** Whether turns say what came of their tool calls. */
  outcomes?: boolean;
  /** Turns after which a session ends and another begins; 0 for never. */
  sessionTurns: number;
  /** Approximate time of the last turn, epoch ms. */
  end: number;
  seed: number;
}

const MODELS = ["claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"];
const WINDOW = 200_000;
/** Share of the window at which the harness compacts. */
const COMPACT_AT = 0.78;
const RESTART_EVERY = 4;
const ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** How the names of harness instances begin. */
export const FLEET_HARNESS = "claude-code@vm-";
/** Harness instances. Connections share them if there are more connections. */
const HARNESSES = 16;

interface Agent {
  name: string;
  model: string;
  /** Tokens of the last prompt, which the cache holds. */
  level: number;
  compactions: number;
}

interface Slot {
  harness: string;
  /** Whether the harness reports durations and costs. */
  thorough: boolean;
  session: string;
  agents: Agent[];
  next: number;
  turns: number;
  at: number;
  /** Events to send before the next turn. */
  waiting: string[];
}

export class Fleet {
  readonly #shape: FleetShape;
  readonly #random: () => number;
  readonly #slots: Slot[][];
  readonly #turn: number[];

  constructor(shape: FleetShape) {
    this.#shape = shape;
    this.#random = seededRandom(shape.seed);
    this.#slots = Array.from({ length: shape.connections }, () => []);
    this.#turn = this.#slots.map(() => 0);
    // All connections send equally much; where one has fewer sessions, each of these has more turns.
    const fewest = Math.max(1, Math.floor(shape.sessions / shape.connections));
    const start = shape.end - (shape.turns / shape.connections / fewest) * shape.spacing;
    // Every connection needs a session.
    for (let index = 0; index < Math.max(shape.sessions, shape.connections); index++) {
      const connection = index % shape.connections;
      this.#slots[connection]!.push({
        harness: `${FLEET_HARNESS}${shape.oneSession ? 0 : connection % HARNESSES}`,
        thorough: connection % 2 === 0,
        session: "",
        agents: [],
        next: 0,
        turns: 0,
        at: start + this.#random() * shape.spacing,
        waiting: [],
      });
    }
    for (const [index, slot] of this.#slots.flat().entries()) this.#begin(slot, index);
  }

  /** The next event of one connection, as JSON. An agent's events come in order. */
  event(connection: number): string {
    const slots = this.#slots[connection]!;
    const index = this.#turn[connection]!;
    this.#turn[connection] = (index + 1) % slots.length;
    const slot = slots[index]!;
    return slot.waiting.shift() ?? this.#advance(slot);
  }

  #begin(slot: Slot, index: number): void {
    const { agents, oneSession = false } = this.#shape;
    const isPart = oneSession && index > 0;
    slot.session = isPart ? this.#slots[0]![0]!.session : this.#id("", 32).toLowerCase();
    slot.turns = 0;
    slot.next = 0;
    const agent = (name: string, model: string): Agent => ({ name, model, level: 0, compactions: 0 });
    slot.agents = isPart ? [] : [agent("main", MODELS[index % 2]!)];
    const most = agents ?? (index % 3 === 0 ? 2 : 1);
    while (slot.agents.length < most) {
      const name = agents === undefined ? "explore" : `worker-${index}-${slot.agents.length}`;
      slot.agents.push(agent(name, MODELS[2]!));
    }
    if (isPart) return;
    slot.waiting.push(
      `${this.#head(slot, "main", "session")},"status":"started","kind":"conversation","title":"Session ${slot.session.slice(0, 6)}"}`,
    );
  }

  #advance(slot: Slot): string {
    const { sessionTurns, spacing } = this.#shape;
    slot.at += spacing * (0.5 + this.#random());
    if (sessionTurns > 0 && slot.turns >= sessionTurns) {
      const ended = `${this.#head(slot, "main", "session")},"status":"ended","reason":"done"}`;
      slot.at += 1;
      this.#begin(slot, Math.floor(this.#random() * 3_000));
      return ended;
    }
    slot.turns += 1;
    const agent = slot.agents[slot.next]!;
    slot.next = (slot.next + 1) % slot.agents.length;
    return this.#turnOf(slot, agent);
  }

  #turnOf(slot: Slot, agent: Agent): string {
    const random = this.#random;
    const input = 2 + Math.floor(random() * 12);
    const added = 150 + Math.floor(random() ** 2 * 6_000) + (agent.level === 0 ? 14_000 : 0);
    const output = 20 + Math.floor(random() ** 2 * 3_000);
    const parent = agent.name === "main" ? "" : `,"parent_agent":"main"`;
    const told = slot.thorough
      ? `,"duration_ms":${900 + Math.floor(random() * 40_000)},"cost_usd":${(0.001 + random() * 0.2).toFixed(5)}`
      : "";
    const outcome = this.#shape.outcomes
      ? `,"outcome":{"calls":${1 + Math.floor(random() * 3)},"failed":${Number(random() < 0.1)},"repeated":${Number(random() < 0.05)},"reedited":${Number(random() < 0.1)},"rejected":0}`
      : "";
    const text =
      `${this.#head(slot, agent.name, "turn", "msg_01")}${parent},"model":"${agent.model}","usage":{"input_tokens":${input},` +
      `"cache_read_tokens":${agent.level},"cache_write_tokens":${added},"output_tokens":${output},"basis":"exclusive"}${told}${outcome}}`;
    agent.level += added + input;
    this.#fall(slot, agent);
    return text;
  }

  /** Compacts, restarts or masks at times, as a harness does to keep its window from overflowing. */
  #fall(slot: Slot, agent: Agent): void {
    const random = this.#random;
    const before = agent.level;
    if (before > COMPACT_AT * WINDOW) {
      agent.compactions += 1;
      slot.at += 1;
      if (agent.compactions % RESTART_EVERY === 0) {
        agent.level = 0;
        slot.waiting.push(
          `${this.#head(slot, agent.name, "restarted")},"number":${agent.compactions / RESTART_EVERY},"previous_turns":${slot.turns},"carryover_turns":0,"reason":"context"}`,
        );
        return;
      }
      agent.level = 18_000 + Math.floor(random() * 12_000);
      slot.waiting.push(
        `${this.#head(slot, agent.name, "compacted")},"trigger":"auto","tokens_before":${before},"tokens_after":${agent.level}}`,
      );
    } else if (before > 60_000 && random() < 0.01) {
      agent.level -= 8_000 + Math.floor(random() * 20_000);
      slot.at += 1;
      slot.waiting.push(
        `${this.#head(slot, agent.name, "masked")},"observations":${3 + Math.floor(random() * 9)},"tokens_before":${before},"tokens_after":${agent.level}}`,
      );
    }
  }

  #head(slot: Slot, agent: string, type: string, prefix = "evt_"): string {
    return (
      `{"id":"${this.#id(prefix, 22)}","type":"${type}","at":"${new Date(slot.at).toISOString()}",` +
      `"harness":"${slot.harness}","session":"${slot.session}","agent":"${agent}"`
    );
  }

  #id(prefix: string, length: number): string {
    let text = prefix;
    for (let index = 0; index < length; index++) {
      text += ALPHABET[Math.floor(this.#random() * ALPHABET.length)];
    }
    return text;
  }
}
