import { safeRedirect } from "./safe-redirect.ts";

const KEY = "plimsoll.wanted";
/** Milliseconds. A login link opened later leads to the home page. */
const EXPIRES_MS = 3_600_000;

/** The page requested before login. The login link opens in a new tab, so it is kept in local storage. */
interface RequestedPage {
  path: string;
  /** Epoch ms. */
  at: number;
}

/** The stored path; `/` if it is missing, expired or not a path of this server. */
export function requestedPath(stored: string | null, now: number): string {
  try {
    const { path, at } = JSON.parse(stored ?? "null") as RequestedPage;
    return typeof path === "string" && Math.abs(now - at) < EXPIRES_MS ? safeRedirect(path) : "/";
  } catch {
    return "/";
  }
}

export function rememberRequestedPath(path: string): void {
  try {
    window.localStorage.setItem(KEY, JSON.stringify({ path, at: Date.now() } satisfies RequestedPage));
  } catch {
    // Without local storage, login leads to the home page.
  }
}

/** Returns the stored path and removes it. */
export function takeRequestedPath(): string {
  try {
    const stored = window.localStorage.getItem(KEY);
    window.localStorage.removeItem(KEY);
    return requestedPath(stored, Date.now());
  } catch {
    return "/";
  }
}
