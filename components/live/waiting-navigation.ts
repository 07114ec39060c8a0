/** Milliseconds between two attempts to load a page. */
const RETRY_MS = 1_000;
/** Milliseconds after which an attempt without an answer is made again. */
const ATTEMPT_MS = 10_000;

/** The page that the reader asked for and the server has not sent yet. */
let waitingFor: string | null = null;
const listeners = new Set<() => void>();
let newest = 0;

function setWaiting(url: string | null): void {
  waitingFor = url;
  for (const listener of listeners) listener();
}

export function onWaitingNavigation(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Path and query of the page that is being loaded; null if none is. */
export const waitingNavigation = (): string | null => waitingFor;

/** A request of the Next.js router for a page that a reader wants now, as opposed to a prefetch. */
function isNavigation(init: RequestInit): boolean {
  const headers = new Headers(init.headers);
  return (
    headers.get("rsc") === "1" &&
    !headers.has("next-router-prefetch") &&
    !headers.has("next-router-segment-prefetch")
  );
}

/** One attempt. Resolves with undefined if the server cannot send pages now. */
async function attempt(
  load: typeof fetch,
  input: string | URL,
  init: RequestInit,
): Promise<Response | undefined> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ATTEMPT_MS);
  const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
  try {
    const response = await load(input, { ...init, signal });
    return response.status >= 502 && response.status <= 504 ? undefined : response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Next.js replaces the document when a navigation fails, and the browser then shows its own error page. So a navigation
 * that fails is repeated until the server answers or the reader goes elsewhere.
 */
export function keepNavigations(load: typeof fetch): typeof fetch {
  return async (input, init) => {
    if (input instanceof Request || init === undefined || !isNavigation(init)) return load(input, init);
    const own = ++newest;
    const url = new URL(input, window.location.href);
    url.searchParams.delete("_rsc");
    setWaiting(url.pathname + url.search);
    try {
      for (;;) {
        const response = await attempt(load, input, init);
        // The router ignores what becomes of a navigation that a newer one replaced.
        if (own !== newest) return await new Promise<Response>(() => {});
        if (response !== undefined) return response;
        await new Promise((done) => setTimeout(done, RETRY_MS));
      }
    } finally {
      if (own === newest) setWaiting(null);
    }
  };
}
