import { type ExampleContext, isMain, runExample, sleep } from "../example-support.ts";
import { seededRandom } from "../large-fleet/random.ts";
import { type AgentShape, SimulatedAgent } from "../large-fleet/simulated-agent.ts";

/** Turns of each worker. At this count all three have shown what they are there for. */
const TURNS = 90;
const LOCAL_MODEL = "qwen3:8b";
const LOCAL_WINDOW = 32_768;

type WorkerShape = Omit<AgentShape, "harness">;

const WORKERS: readonly { title: string; shape: WorkerShape }[] = [
  {
    // Rises to the end of its window.
    title: "worker-1",
    shape: {
      model: LOCAL_MODEL,
      kind: "agent",
      window: LOCAL_WINDOW,
      reported: LOCAL_WINDOW,
      start: 0.35,
      high: 1.2,
      low: 0.2,
      falls: [],
      growth: 0.02,
    },
  },
  {
    // Its model server cuts the oldest messages and says nothing, as Ollama does.
    title: "worker-2",
    shape: {
      model: LOCAL_MODEL,
      kind: "agent",
      window: LOCAL_WINDOW,
      reported: LOCAL_WINDOW,
      start: 0.5,
      high: 0.88,
      low: 0.5,
      falls: ["unexplained"],
      growth: 0.09,
    },
  },
  {
    // It reports a quarter of the window that its model really has.
    title: "worker-3",
    shape: {
      model: "qwen3:8b-128k",
      kind: "agent",
      window: 4 * LOCAL_WINDOW,
      reported: LOCAL_WINDOW,
      start: 0.18,
      high: 0.9,
      low: 0.2,
      falls: ["masked"],
      growth: 0.02,
    },
  },
];

/** Three workers without a guard, which show what Plimsoll sees when no harness explains it. */
export async function workers({ harness, reporter, run, say }: ExampleContext, durationMs: number) {
  const agents = WORKERS.map(
    ({ title, shape }, index) =>
      new SimulatedAgent(
        { title, session: `${title}:${run}`, shape: { ...shape, harness } },
        seededRandom(index + 1),
      ),
  );
  const record = (step: (agent: SimulatedAgent) => ReturnType<SimulatedAgent["begin"]>) => {
    for (const agent of agents) for (const event of step(agent)) reporter.record(event);
  };
  record((agent) => agent.begin(Date.now()));
  for (let turn = 1; turn <= TURNS; turn += 1) {
    record((agent) => agent.step(Date.now()));
    if (turn % 10 === 0) say(`${turn} of ${TURNS} turns`);
    await sleep(durationMs / TURNS);
  }
  record((agent) => agent.end(Date.now(), "done"));
}

if (isMain("workers")) await runExample("workers", (context) => workers(context, TURNS * context.paceMs));
