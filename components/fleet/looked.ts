import { fingerprint } from "./dismissals.ts";

/** When this browser last showed each project. The server reads it too, so that its page has the digest at once. */
export const LOOKED_COOKIE = "plimsoll_looked";

/** The name of a project in the cookie. */
export const projectMark = (project: string | null | undefined) => fingerprint(project ?? "");

/** Epoch seconds. */
export interface Look {
  /** When a visible page was open last. */
  seen: number;
  /** Since when the person was away, until they say that they have read what happened. */
  away: number | undefined;
}

/** Seconds after which somebody who comes back is told what happened. */
const AWAY_S = 600;
/** Projects in the cookie. */
const MOST = 10;
/** The longest time that a digest covers, less a day for clocks that differ. */
const MOST_S = 30 * 86_400;

/** What is known of each project, the latest last. */
export function parseLooks(cookie: string | null): ReadonlyMap<string, Look> {
  const looks = new Map<string, Look>();
  for (const part of (cookie ?? "").split("_")) {
    const [, project, seen, away] = /^([0-9a-z]{1,7})\.(\d{1,11})(?:\.(\d{1,11}))?$/.exec(part) ?? [];
    if (project !== undefined)
      looks.set(project, { seen: Number(seen), away: away === undefined ? undefined : Number(away) });
  }
  return looks;
}

export function withLook(looks: ReadonlyMap<string, Look>, project: string, look: Look): string {
  return [...[...looks].filter(([other]) => other !== project), [project, look] as const]
    .slice(-MOST)
    .map(([name, { seen, away }]) => `${name}.${seen}${away === undefined ? "" : `.${away}`}`)
    .join("_");
}

/**
 * The time from which a person is told what happened, in epoch seconds; undefined for who was here all the time, or was never.
 * @param now epoch seconds
 */
export function awaySince(look: Look | undefined, now: number): number | undefined {
  if (look === undefined) return undefined;
  const since = look.away ?? (now - look.seen >= AWAY_S ? look.seen : undefined);
  // A clock that was set back makes no future.
  return since === undefined || since >= now ? undefined : Math.max(since, now - MOST_S);
}

/** The look of a person who has the page before them. */
export const lookingAt = (look: Look | undefined, now: number): Look => ({
  seen: now,
  away: awaySince(look, now),
});

/** The range of a digest, as its query names it: until the end of the minute, so that the answer is kept for as long. */
export const digestRange = (since: number, minute: number) => ({
  from: new Date(since * 1_000).toISOString(),
  to: new Date(minute + 60_000).toISOString(),
});
