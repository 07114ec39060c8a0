/** The location of a log: `.ouro-logs/session-….jsonl`, or for a sub-agent `.ouro-logs/sub-<id>/session-….jsonl`. */
export interface LogPlace {
  folder: string;
  stem: string;
  sub: string | undefined;
  /** For a sub-agent: the folder of its session. */
  parentFolder: string | undefined;
}

export interface LogSummary {
  path: string;
  workspace: string | undefined;
  /** True if the session continued in another window. */
  restarted: boolean;
}

export function logPlace(path: string): LogPlace {
  const cut = path.lastIndexOf("/");
  const folder = cut < 0 ? "" : path.slice(0, cut);
  const sub = /(?:^|\/)sub-([^/]+)$/.exec(folder)?.[1];
  return {
    folder,
    stem: path.slice(cut + 1).replace(/\.jsonl$/, ""),
    sub,
    parentFolder: sub === undefined ? undefined : folder.slice(0, Math.max(0, folder.lastIndexOf("/"))),
  };
}

/** Maps each log to the first log of its session. File names are times, so logs sort by name. */
export function chainHeads(logs: readonly LogSummary[]): Map<string, string> {
  const heads = new Map<string, string>();
  let previous: { log: LogSummary; folder: string; head: string } | undefined;
  for (const log of [...logs].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const { folder } = logPlace(log.path);
    const continues =
      previous?.folder === folder && previous.log.restarted && previous.log.workspace === log.workspace;
    const head = continues ? previous!.head : log.path;
    heads.set(log.path, head);
    previous = { log, folder, head };
  }
  return heads;
}

/** Returns the session that was running when the sub-agent's log started. */
export function parentChain(place: LogPlace, heads: ReadonlyMap<string, string>): string | undefined {
  let latest: string | undefined;
  for (const path of heads.keys()) {
    const other = logPlace(path);
    if (other.folder !== place.parentFolder || other.stem > place.stem) continue;
    if (latest === undefined || path > latest) latest = path;
  }
  return latest === undefined ? undefined : heads.get(latest);
}
