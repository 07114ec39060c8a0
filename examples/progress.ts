/**
 * Tells the process that started this one, such as a server with a page that shows it, what the examples do. Does
 * nothing when a terminal started it. The server's side is server/demo/progress.ts.
 */
export function tell(message: Readonly<Record<string, unknown>>): void {
  if (process.connected) process.send?.(message);
}

/** Ends this process with the one that started it, even when that is killed; keeps it no longer than its work. */
export function endWithStarter(): void {
  if (process.channel === undefined) return;
  process.once("disconnect", () => process.exit(1));
  process.channel.unref();
}

/** Hears every event as a line and tells of each session once, and again when it gets a title. */
export function sessionTeller(example: string): (line: string) => void {
  const titles = new Map<string, string | null>();
  return (line) => {
    const { session, harness, title = null } = JSON.parse(line) as Record<string, string | undefined>;
    if (session === undefined) return;
    const known = titles.get(session);
    if (known !== undefined && (title === null || known === title)) return;
    titles.set(session, title);
    tell({ type: "session", example, harness, session, title });
  };
}
