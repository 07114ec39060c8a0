import type { MachineView, SuspectSession, UnknownWindows } from "@plimsoll/protocol/api";

/** The cookie with the notices that this browser dismissed, so that the server leaves them out, too. */
export const DISMISSED_COOKIE = "plimsoll_dismissed";

/** What the cookie keeps: the models of some notices. */
const MOST = 60;

/** A short stand-in for what a notice is about. */
export function fingerprint(about: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < about.length; index += 1)
    hash = Math.imul(hash ^ about.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** What the notice of wrong sizes is about. */
export const suspectsAbout = (sessions: readonly SuspectSession[]): string[] =>
  sessions.map(({ model, window_tokens, window_source }) => [model, window_tokens, window_source].join(" "));

/** What the notice of machines is about: a machine that stops again is another stop. */
export const stoppedAbout = (stopped: readonly MachineView[]): string[] =>
  stopped.map(({ name, last_at }) => [last_at, name].join(" "));

/** What the notice of unknown sizes is about. */
export const unknownAbout = ({ models }: UnknownWindows): string[] => models.map(({ model }) => model);

export function parseDismissed(text: string | null): readonly string[] {
  return (text ?? "").split(".").filter((part) => /^[0-9a-z]{1,7}$/.test(part));
}

/** The latest ones. */
export function addDismissed(dismissed: readonly string[], added: readonly string[]): string {
  return [...dismissed.filter((one) => !added.includes(one)), ...new Set(added)].slice(-MOST).join(".");
}
