/** Sessions that changed, by project. Null when there are too many to name. */
export type Changes = Map<number, Set<string> | null>;

/** Beyond this many a reader refetches everything; 39 bytes each keep a message under PostgreSQL's 8,000. */
export const NAMED_SESSIONS = 150;

/** Adds to `into`, which never holds more than NAMED_SESSIONS names a project. */
export function addChanges(into: Changes, projectId: number, sessions: Iterable<string> | null): void {
  const named = into.get(projectId);
  if (named === null) return;
  if (sessions === null) {
    into.set(projectId, null);
    return;
  }
  const all = named ?? new Set<string>();
  for (const session of sessions) {
    all.add(session);
    if (all.size > NAMED_SESSIONS) {
      into.set(projectId, null);
      return;
    }
  }
  into.set(projectId, all);
}

/** What one process tells the others. */
export type Notice =
  | { from: string; changes: [projectId: number, sessions: string[] | null][] }
  /** Everything in every project may have changed. */
  | { from: string; everything: true }
  /** A key or a browser's session ended: the hex of its sha256. */
  | { from: string; ended: string }
  /** A project was created, renamed, archived, unarchived or deleted. */
  | { from: string; projects: true }
  /** The policy of this project changed. */
  | { from: string; policy: number }
  /** The mappings of this project changed. */
  | { from: string; mappings: number }
  /** The journals of these projects have new rows. */
  | { from: string; journaled: number[] }
  /** Somebody waits for changes of these projects. */
  | { from: string; watched: number[] }
  /** What became of requests that another process received. */
  | { from: string; replies: { reply: string; accepted: number; duplicates: number }[] };

/** PostgreSQL refuses a payload of 8,000 bytes or more. */
const PAYLOAD_BYTES = 7_900;

/** The shortest true account of `changes` that fits into one NOTIFY. */
export function encodeChanges(from: string, changes: Changes): string {
  const attempts: (() => Notice)[] = [
    () => ({ from, changes: [...changes].map(([id, sessions]) => [id, sessions && [...sessions]]) }),
    () => ({ from, changes: [...changes.keys()].map((id) => [id, null]) }),
  ];
  for (const attempt of attempts) {
    const text = JSON.stringify(attempt());
    if (Buffer.byteLength(text) <= PAYLOAD_BYTES) return text;
  }
  return JSON.stringify({ from, everything: true } satisfies Notice);
}

/** @returns undefined for what another version, or somebody else on the channel, may have sent */
export function decodeNotice(text: string): Notice | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { from, changes, everything, ended, projects, policy, mappings, journaled, watched, replies } =
      value as Record<string, unknown>;
    if (typeof from !== "string") return undefined;
    if (everything === true) return { from, everything };
    if (typeof ended === "string") return { from, ended };
    if (projects === true) return { from, projects };
    if (Number.isInteger(policy)) return { from, policy: policy as number };
    if (Number.isInteger(mappings)) return { from, mappings: mappings as number };
    if (Array.isArray(journaled)) return { from, journaled: journaled.filter(Number.isInteger) };
    if (Array.isArray(watched)) return { from, watched: watched.filter(Number.isInteger) };
    if (Array.isArray(replies)) return { from, replies: replies.filter(isReply) };
    if (!Array.isArray(changes) || !changes.every(isChange)) return undefined;
    return { from, changes };
  } catch {
    return undefined;
  }
}

function isChange(value: unknown): value is [number, string[] | null] {
  if (!Array.isArray(value) || typeof value[0] !== "number") return false;
  const sessions: unknown = value[1];
  return sessions === null || (Array.isArray(sessions) && sessions.every((id) => typeof id === "string"));
}

function isReply(value: unknown): value is { reply: string; accepted: number; duplicates: number } {
  const { reply, accepted, duplicates } = (value ?? {}) as Record<string, unknown>;
  return typeof reply === "string" && Number.isInteger(accepted) && Number.isInteger(duplicates);
}
