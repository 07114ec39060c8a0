import { ALERT_PRESETS, type AlertRuleInput } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { seededRandom } from "../examples/large-fleet/random.ts";
import { SHAPES } from "../examples/large-fleet/shapes.ts";
import { SimulatedAgent } from "../examples/large-fleet/simulated-agent.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY_HOURS = 8;
const NIGHT_HOURS = 8;
const DAY = Date.UTC(2026, 9, 1, 9);
const NIGHT = Date.UTC(2026, 9, 3, 21);
/** Between two turns at night. */
const STEP = 30_000;
/** Within which an accident has to be told. */
const IN_TIME_MS = 2 * MINUTE;

/** Presets about agents. The others are about harnesses, which a backtest does not know. */
const PRESETS = ["past_line", "over_window", "thrash"] as const;

/** Receives the events of a day, and says what alerts a rule would have raised. */
export interface DayStage {
  send: (events: PlimsollEventInput[]) => Promise<unknown>;
  firings: (rule: AlertRuleInput, span: { from: number; to: number }) => Promise<AlertBacktest["firings"]>;
}

export interface PlayedDay {
  agents: number;
  hours: number;
  turns: number;
  compactions: number;
  /** Messages of the presets: one when an alert fires, and one when it ends. */
  messages: number;
  /** What a rule on each crossing of the line would have sent. */
  atEachCrossing: number;
}

const messagesOf = (firings: AlertBacktest["firings"]) => 2 * firings.length;

/** A working day of thirty agents of Claude Code. People read, talk and have lunch between bursts of turns. */
export async function playDay({ send, firings }: DayStage): Promise<PlayedDay> {
  const random = seededRandom(1);
  const agents = 30;
  const events: PlimsollEventInput[] = [];
  for (let index = 0; index < agents; index++) {
    const shape = { ...SHAPES.claudeCode, harness: `claude-code@desk-${index}` };
    const agent = new SimulatedAgent({ shape, session: `s${index}`, title: "a day" }, random);
    events.push(...agent.begin(DAY));
    for (let at = DAY + MINUTE * random(); at < DAY + DAY_HOURS * HOUR; ) {
      const turns = 3 + Math.floor(random() * 25);
      for (let turn = 0; turn < turns; turn++) {
        at += 4_000 + random() * 26_000;
        events.push(...agent.step(at));
      }
      at += MINUTE * (1 + random() ** 3 * 60);
    }
  }
  await send(events);
  const span = { from: DAY, to: DAY + 24 * HOUR };
  const crossing = { name: "line", condition: { type: "threshold", threshold: "line" } } as const;
  let messages = 0;
  for (const preset of PRESETS) messages += messagesOf(await firings(ALERT_PRESETS[preset], span));
  return {
    agents,
    hours: DAY_HOURS,
    turns: events.filter(({ type }) => type === "turn").length,
    compactions: events.filter(({ type }) => type === "compacted").length,
    messages,
    atEachCrossing: messagesOf(await firings(crossing, span)),
  };
}

interface Accident {
  name: string;
  harness: string;
  agent?: string;
  /** Thousands of tokens, a turn each. A fall is a compaction. */
  levels: readonly number[];
  window: number;
  /** The turn with which it becomes an accident. */
  turn: number;
}

const rise = (from: number, to: number, by: number) =>
  Array.from({ length: (to - from) / by + 1 }, (_, n) => from + n * by);

/** The line of Claude Code is at 167,000 tokens of 200,000. */
const ACCIDENTS: readonly Accident[] = [
  {
    name: "a compaction that is off",
    harness: "claude-code@off",
    levels: rise(100, 196, 4),
    window: 200_000,
    turn: 17,
  },
  {
    name: "a sub-agent whose compaction is off",
    harness: "claude-code@sub",
    agent: "scout",
    levels: rise(100, 196, 4),
    window: 200_000,
    turn: 17,
  },
  {
    name: "sub-ticks that fail",
    harness: "phantom@failing",
    levels: rise(20, 80, 4),
    window: 200_000,
    turn: 5,
  },
  {
    name: "an unknown harness at the end of its window",
    harness: "my-bot@full",
    levels: rise(100, 198, 2),
    window: 200_000,
    turn: 45,
  },
  {
    name: "a window that is set too small",
    harness: "codex@small",
    levels: rise(100, 300, 10),
    window: 128_000,
    turn: 3,
  },
  {
    name: "compactions that free nothing for long",
    harness: "opencode@thrash",
    levels: [150, 20, 160, 30, 170, 40, 175, 50],
    window: 200_000,
    turn: 4,
  },
];

/** Hours into the night at which each accident begins. */
const beginsAt = (index: number) => NIGHT + (1 + index) * HOUR;

function accidentEvents({ harness, agent, levels, window }: Accident, from: number): PlimsollEventInput[] {
  const place = {
    harness,
    session: "a loop",
    ...(agent !== undefined && { agent, parent_agent: "main" }),
  };
  return levels.flatMap((level, index) => {
    const at = from + index * STEP;
    const usage = { input_tokens: level * 1_000 };
    const turn = {
      ...place,
      id: `t${index}`,
      type: "turn" as const,
      at,
      model: "model-n",
      usage,
      context_window: window,
    };
    const falls = index > 0 && level < levels[index - 1]!;
    const fall = {
      ...place,
      id: `c${index}`,
      type: "compacted" as const,
      at: at - 1_000,
      trigger: "auto" as const,
    };
    return falls ? [fall, turn] : [turn];
  });
}

/** Loops that work through the night and do what their harness does at its line. */
function ordinaryLoops(): { events: PlimsollEventInput[]; agents: number } {
  const random = seededRandom(2);
  const shapes = [SHAPES.claudeCode, SHAPES.codex, SHAPES.ouroboros, SHAPES.phantom];
  const agents = 16;
  const events: PlimsollEventInput[] = [];
  for (let index = 0; index < agents; index++) {
    const shape = shapes[index % shapes.length]!;
    const harness = `${shape.harness.split("@")[0]}@night-${index}`;
    const agent = new SimulatedAgent(
      { shape: { ...shape, harness }, session: "a loop", title: "a night" },
      random,
    );
    events.push(...agent.begin(NIGHT));
    for (let at = NIGHT; at < NIGHT + NIGHT_HOURS * HOUR; at += 30_000 + random() * 60_000)
      events.push(...agent.step(at));
  }
  return { events, agents };
}

export interface PlayedNight {
  agents: number;
  hours: number;
  accidents: number;
  /** Accidents that were told within two minutes. */
  inTime: number;
  /** Seconds from the turn that makes it an accident, of the one told last. */
  slowestS: number;
  /** Accidents of which more than one alert tells. */
  twice: number;
  /** Names of accidents whose alert came late, never, or more than once. */
  wrong: string[];
  /** One when an alert fires, and one when it ends. */
  messages: number;
  /** Messages about agents that do well. */
  falseMessages: number;
}

/** A night of unattended loops, with six accidents among them. */
export async function playNight({ send, firings }: DayStage): Promise<PlayedNight> {
  const { events, agents } = ordinaryLoops();
  await send([
    ...events,
    ...ACCIDENTS.flatMap((accident, index) => accidentEvents(accident, beginsAt(index))),
  ]);
  const found: AlertBacktest["firings"] = [];
  for (const preset of PRESETS)
    found.push(...(await firings(ALERT_PRESETS[preset], { from: NIGHT, to: NIGHT + 24 * HOUR })));
  const told = ACCIDENTS.map(({ name, harness, agent = "main", turn }, index) => {
    const own = found.filter((firing) => firing.harness === harness && firing.agent === agent);
    const since = beginsAt(index) + turn * STEP;
    const delays = own.map(({ fired_at }) => Date.parse(fired_at) - since);
    return {
      name,
      count: own.length,
      delay: Math.min(...delays),
      isEarly: delays.some((delay) => delay < 0),
    };
  });
  const isInTime = ({ delay, isEarly }: (typeof told)[number]) => !isEarly && delay <= IN_TIME_MS;
  return {
    agents: agents + ACCIDENTS.length,
    hours: NIGHT_HOURS,
    accidents: ACCIDENTS.length,
    inTime: told.filter(isInTime).length,
    slowestS: Math.max(...told.map(({ delay }) => delay)) / 1_000,
    twice: told.filter(({ count }) => count > 1).length,
    wrong: told.filter((one) => !isInTime(one) || one.count !== 1).map(({ name }) => name),
    messages: messagesOf(found),
    falseMessages: 2 * (found.length - told.reduce((sum, { count }) => sum + count, 0)),
  };
}
