/**
 * Reports progress to the parent process, such as a server that shows it. Does nothing when run from a terminal.
 * `server/demo/progress.ts` defines the messages.
 */
export function reportProgress(message: Readonly<Record<string, unknown>>): void {
  if (process.connected) process.send?.(message);
}

/** Exits when the parent process ends, even by SIGKILL. The connection does not keep this process alive. */
export function exitWithParent(): void {
  if (process.channel === undefined) return;
  process.once("disconnect", () => process.exit(1));
  process.channel.unref();
}

/** Returns a log function that reports each session once, and again when its title changes. */
export function sessionReporter(example: string): (line: string) => void {
  const titles = new Map<string, string | null>();
  return (line) => {
    const { session, harness, title = null } = JSON.parse(line) as Record<string, string | undefined>;
    if (session === undefined) return;
    const known = titles.get(session);
    if (known !== undefined && (title === null || known === title)) return;
    titles.set(session, title);
    reportProgress({ type: "session", example, harness, session, title });
  };
}
