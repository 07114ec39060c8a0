import { safeRedirect } from "./safe-redirect.ts";

const KEY = "plimsoll.wanted";
/** Milliseconds. A link opened the day after leads to the first page, as its owner expects. */
const REMEMBERED_FOR = 3_600_000;

/** What was asked for before anybody was logged in. The link from the terminal opens elsewhere and knows nothing of it. */
interface RequestedPage {
  path: string;
  /** Epoch ms. */
  at: number;
}

/** The path to go to, from what was remembered: `/` when that is nothing, too old, or no path of this server. */
export function requestedPath(remembered: string | null, now: number): string {
  try {
    const { path, at } = JSON.parse(remembered ?? "null") as RequestedPage;
    return typeof path === "string" && Math.abs(now - at) < REMEMBERED_FOR ? safeRedirect(path) : "/";
  } catch {
    return "/";
  }
}

export function rememberRequestedPath(path: string): void {
  try {
    window.localStorage.setItem(KEY, JSON.stringify({ path, at: Date.now() } satisfies RequestedPage));
  } catch {
    // A browser that keeps nothing goes to the first page.
  }
}

/** Tells what was remembered, once. */
export function takeRequestedPath(): string {
  try {
    const remembered = window.localStorage.getItem(KEY);
    window.localStorage.removeItem(KEY);
    return requestedPath(remembered, Date.now());
  } catch {
    return "/";
  }
}
