import { CONTENDERS, type Contender, type RunningContender } from "./compare/contenders.ts";
import { startComparedServer } from "./compare/server.ts";
import { type ComparedSession, comparedSession, type PlantedFact } from "./compare/session.ts";
import type { BenchGroup } from "./measurement.ts";

/** What keeping a session within a window cost, and what the agent still knows at its end. */
export interface ComparedCost {
  calls: number;
  /** Calls that got no answer: the server or the contender itself refused them. */
  refused: number;
  /** Prompts that did not continue the one before. */
  actions: number;
  /** Largest prompt, in tokens. */
  peak: number;
  /** Prompt tokens of all calls, also of those for summaries. */
  tokens: number;
  /** How much of each prompt the next one begins with, as a fraction: what a cache can reuse. */
  prefixKept: number;
  /** Of what the user said and of what tools returned, as fractions: word for word in the last prompt. */
  userKept: number;
  toolKept: number;
  /** Facts in tool results: in the last prompt, or under a recall key that the prompt lists beside the file name. */
  toolReachable: number;
  /** What was refused, once each. */
  errors: string[];
}

/** Part of a window that the answer may take. */
const ANSWER_SHARE = 1 / 16;

/** Runs a session with a contender against a strict server. `windowTokens` holds prompt and answer. */
export async function comparedCost(
  contender: Contender,
  { calls, userFacts, toolFacts }: ComparedSession,
  windowTokens: number,
): Promise<ComparedCost> {
  const server = await startComparedServer(windowTokens);
  try {
    const running = contender.start(server.url, windowTokens, Math.round(windowTokens * ANSWER_SHARE));
    const errors = new Set<string>();
    for (const added of calls) {
      const { taken } = server.tally;
      try {
        await running.send(added);
      } catch (error) {
        errors.add(String(error).replace(/\d+/g, "N").slice(0, 200));
      }
      if (server.tally.taken === taken && errors.size === 0) errors.add("no call was made");
    }
    const { tally } = server;
    const share = (facts: readonly PlantedFact[], known: (fact: PlantedFact) => boolean) =>
      facts.filter(known).length / facts.length;
    const isSent = ({ text }: PlantedFact) => tally.last.includes(text);
    return {
      calls: calls.length,
      refused: calls.length - tally.taken,
      actions: tally.changed,
      peak: tally.peak,
      tokens: tally.tokens,
      prefixKept: tally.before === 0 ? 1 : tally.reused / tally.before,
      userKept: share(userFacts, isSent),
      toolKept: share(toolFacts, isSent),
      toolReachable: share(toolFacts, (fact) => isSent(fact) || isFound(tally.last, fact, running)),
      errors: [...errors],
    };
  } finally {
    await server.close();
  }
}

/** Whether a line that names the file, or a list that a line names, has a key under which the fact is. */
function isFound(text: string, fact: PlantedFact, { recall }: RunningContender, lists = true): boolean {
  if (recall === undefined) return false;
  return text.split("\n").some((line) =>
    [...line.matchAll(/recall key ([^\s;,\])]+)|^- (\S+) /g)].some(([, named, listed]) => {
      const whole = recall(named ?? listed ?? "");
      if (whole === undefined) return false;
      if (line.includes(fact.file!) && whole.includes(fact.text)) return true;
      return lists && named !== undefined && isFound(whole, fact, { recall, send: async () => {} }, false);
    }),
  );
}

const WINDOWS = [16_000, 32_000, 128_000];
const SEEDS = [1, 2, 3];

/** The guard and what else keeps a context within its window, behind the same harness: one row a window and contender. */
export const guardCompare: BenchGroup = {
  names: ["guard.compare"],
  async *run({ note }) {
    for (const windowTokens of WINDOWS) {
      for (const contender of CONTENDERS) {
        const name = `guard.compare.${windowTokens / 1_000}k.${contender.name.replaceAll(" ", "_")}`;
        note(`${name} ...`);
        const costs: ComparedCost[] = [];
        for (const seed of SEEDS)
          costs.push(await comparedCost(contender, comparedSession(seed), windowTokens));
        const mean = (of: (cost: ComparedCost) => number) =>
          costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length;
        for (const text of new Set(costs.flatMap(({ errors }) => errors))) note(`  ${text}`);
        yield {
          name,
          value: Math.round(mean(({ userKept }) => userKept) * 100),
          unit: "% of the user's facts kept",
          "tool facts kept": percentOf(mean(({ toolKept }) => toolKept)),
          "or findable": percentOf(mean(({ toolReachable }) => toolReachable)),
          refused: Number(mean(({ refused }) => refused).toFixed(1)),
          calls: costs[0]!.calls,
          actions: Number(mean(({ actions }) => actions).toFixed(1)),
          "prefix kept": percentOf(mean(({ prefixKept }) => prefixKept)),
          peak: percentOf(mean(({ peak }) => peak) / windowTokens),
          "tokens sent": `${(mean(({ tokens }) => tokens) / 1e6).toFixed(2)}M`,
        };
      }
    }
  },
};

const percentOf = (fraction: number) => `${Math.round(fraction * 100)} %`;
