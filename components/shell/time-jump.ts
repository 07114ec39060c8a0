const HALF_AN_HOUR = 1_800_000;

/** Formats epoch ms for `<input type=datetime-local>`: local time without an offset. */
export function toField(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/**
 * Where a jump to a time leads, from a page: the turn of an open session, else the hour around the time.
 * @param at epoch ms
 */
export function jumpTo(path: string, search: string, at: number): string {
  const params = new URLSearchParams(search);
  if (/^\/sessions\/[^/]+$/.test(path)) {
    for (const name of ["turn", "fall", "zoom"]) params.delete(name);
    params.set("at", new Date(at).toISOString());
    return `${path}?${params}`;
  }
  params.set(
    "range",
    `${new Date(at - HALF_AN_HOUR).toISOString()}..${new Date(at + HALF_AN_HOUR).toISOString()}`,
  );
  const target = path === "/sessions" ? path : "/";
  return `${target}?${params}`;
}

/** The last point at or before a time, else the first one. Points are in order. */
export function pointAt<Point extends { at: string }>(
  points: readonly Point[],
  at: number,
): Point | undefined {
  return points.findLast((point) => Date.parse(point.at) <= at) ?? points[0];
}
