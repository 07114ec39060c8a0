import type { CodexMeta, CodexRollout, CodexTask } from "./recording-line.ts";

/** Without anything better, lines this close together were written at once. */
const SAME_MOMENT_MS = 1_000;

/** Something in a rollout: a count, a record, a compaction. */
interface Entry {
  id: string;
  at: number;
  usage?: { input_tokens: number | undefined };
}

/** Whether a thread has something only because its file begins with the history of another thread. */
export type CopiedTest = (entry: Entry) => boolean;

/**
 * Tells what a fork or a sub-agent did itself from the history at the start of its file. Some versions copy the times, others write
 * that of the copying, over one or several seconds. What proves it, best first: the ids of runs and of counts in the files of the
 * other threads, when a run began, and times from before the thread existed. Only without any of these the pause after the copying
 * decides.
 * @param originals the files of the threads that the history may be from
 */
export function copiedTest(
  rollout: CodexRollout,
  meta: CodexMeta | undefined,
  originals: readonly CodexRollout[],
): CopiedTest {
  const isFork = meta?.forkedFrom !== undefined || rollout.metas.size > 1;
  if (meta === undefined || (!isFork && meta.spawnedBy === undefined)) return () => false;
  const { createdAt } = meta;
  const known = knownIds(originals);
  const ownFrom = ownRunAt(rollout, createdAt, known);
  if (ownFrom !== undefined)
    return (entry) => entry.at < ownFrom || (entry.at === ownFrom && known.has(keyOf(entry)));
  const entries: Entry[] = [
    ...rollout.counts.values(),
    ...rollout.records.values(),
    ...[...rollout.compactions].map(([id, at]) => ({ id, at })),
  ];
  const isProven = (entry: Entry) => entry.at < createdAt || known.has(keyOf(entry));
  const copiedTo = entries.filter(isProven).reduce((last, { at }) => Math.max(last, at), createdAt - 1);
  if (originals.length > 0 || copiedTo >= createdAt || entries.some(({ at }) => at < createdAt)) {
    // The line of a compaction has no id in old versions.
    return (entry) =>
      entry.at <= copiedTo || (entry.usage === undefined && entry.at - copiedTo < SAME_MOMENT_MS);
  }
  // A sub-agent mostly begins without a history.
  if (!isFork) return () => false;
  const burstTo = firstPause(rollout, entries);
  return ({ at }) => at <= burstTo;
}

const keyOf = ({ id, usage }: Entry) => (usage === undefined ? id : `${id} ${usage.input_tokens}`);

/** The sums of two threads may be equal by chance, but hardly with the same last prompt. */
function knownIds(rollouts: readonly CodexRollout[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { counts, records, compactions, tasks } of rollouts) {
    for (const entry of [...counts.values(), ...records.values()]) ids.add(keyOf(entry));
    for (const id of compactions.keys()) ids.add(id);
    for (const { id } of tasks.values()) if (id !== undefined) ids.add(taskKey(id));
  }
  return ids;
}

const taskKey = (id: string) => `task/${id}`;

/** When the first run began that is the thread's own. Infinite if all of them are copied, undefined if none says when it began. */
function ownRunAt(
  { tasks }: CodexRollout,
  createdAt: number,
  known: ReadonlySet<string>,
): number | undefined {
  // Runs have whole seconds, and lines that keep their times have milliseconds.
  const createdSecond = Math.floor(createdAt / 1_000) * 1_000;
  const isCopied = ({ id, startedAt, at }: CodexTask) =>
    (id !== undefined && known.has(taskKey(id))) || at < createdAt || (startedAt ?? at) < createdSecond;
  const dated = [...tasks.values()].filter(({ startedAt }) => startedAt !== undefined);
  if (dated.length === 0) return undefined;
  return dated
    .filter((task) => !isCopied(task))
    .reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY);
}

/** The end of the lines that were written without a pause from the start of the file. */
function firstPause({ firstAt, parts, models, windows, tasks }: CodexRollout, entries: Entry[]): number {
  const times = [entries, parts, models, windows, [...tasks.values()]]
    .flatMap((all): number[] => all.map(({ at }: { at: number }) => at))
    .sort((a, b) => a - b);
  let last = firstAt;
  for (const at of times) {
    if (at - last >= SAME_MOMENT_MS) break;
    last = at;
  }
  return last;
}
