/** Returns `next` if it is a path of this server, else `/`. Prevents open redirects after login. */
export function safeRedirect(next: string | null): string {
  // Browsers strip tabs and newlines from URLs and treat a backslash as a slash.
  return next !== null && /^\/(?![/\\])[^\\\s]*$/.test(next) ? next : "/";
}
