/** The page that compares two sessions. */
export function compareHref(a: string, b: string): string {
  return `/sessions/compare?${new URLSearchParams({ a, b })}`;
}
