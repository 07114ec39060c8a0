/** Only a path of this server: a link must not be able to send a person elsewhere after logging in. */
export function safeRedirect(next: string | null): string {
  // Browsers drop tabs and newlines inside addresses and read a backslash as a slash.
  return next !== null && /^\/(?![/\\])[^\\\s]*$/.test(next) ? next : "/";
}
