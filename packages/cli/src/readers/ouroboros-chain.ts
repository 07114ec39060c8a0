/** Where a log stands: `.ouro-logs/session-….jsonl`, or a sub-agent's `.ouro-logs/sub-<id>/session-….jsonl`. */
export interface LogPlace {
  folder: string;
  stem: string;
  sub: string | undefined;
  /** The folder of the session a sub-agent belongs to. */
  parentFolder: string | undefined;
}

export interface LogSummary {
  path: string;
  workspace: string | undefined;
  /** The log says that its session went on in another window. */
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

/** The first log of the session that each log is a window of. File names are times, so their order is the order. */
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

/** The session that was running when a sub-agent's log began. */
export function parentChain(place: LogPlace, heads: ReadonlyMap<string, string>): string | undefined {
  let latest: string | undefined;
  for (const path of heads.keys()) {
    const other = logPlace(path);
    if (other.folder !== place.parentFolder || other.stem > place.stem) continue;
    if (latest === undefined || path > latest) latest = path;
  }
  return latest === undefined ? undefined : heads.get(latest);
}
