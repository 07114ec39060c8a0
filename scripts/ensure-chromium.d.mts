/** A Chromium that is on this machine: the one named by PLIMSOLL_CHROMIUM, Playwright's own, or the system's. */
export function findChromium(): Promise<string | undefined>;
/** Finds a Chromium, or installs one; gives its path. */
export function ensureChromium(): Promise<string>;
