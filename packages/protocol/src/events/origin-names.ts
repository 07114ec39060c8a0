import { LONGEST } from "./event-rules.ts";

/** Controls, line separators and halves of surrogate pairs: a name has none, and PostgreSQL takes not all of them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A name of one line; undefined if nothing is left of it. Longer ones are cut to `most` UTF-16 units. */
function cleanName(text: string, most: number): string | undefined {
  const name = text
    .slice(0, most * 4)
    .replace(UNPRINTABLE, "")
    .trim()
    .slice(0, most);
  // A cut may have left half of a pair.
  return name.replace(UNPRINTABLE, "").trimEnd() || undefined;
}

export const machineName = (text: string): string | undefined => cleanName(text, LONGEST.machine);

/** The name of a branch, also of a full reference such as `refs/heads/main`. */
export const branchName = (text: string): string | undefined =>
  cleanName(text.trim().replace(/^refs\/heads\//, ""), LONGEST.branch);

/** Hosts that serve the same repositories over SSH, where port 22 is closed. */
const SSH_HOSTS: ReadonlyMap<string, string> = new Map([
  ["ssh.github.com", "github.com"],
  ["altssh.gitlab.com", "gitlab.com"],
  ["altssh.bitbucket.org", "bitbucket.org"],
]);

/** Longest remote that is read, in characters. */
const LONGEST_REMOTE = 4_096;

/**
 * The name of a git remote: host and path, such as `github.com/acme/billing`. All forms of a remote have one name. User names,
 * passwords, ports, queries and fragments are left out. Undefined for a folder, whose path may name a person, and for nothing.
 * @example repositoryName("git@github.com:acme/billing.git") // "github.com/acme/billing"
 */
export function repositoryName(remote: string): string | undefined {
  if (remote.length > LONGEST_REMOTE) return undefined;
  const text = remote.replace(UNPRINTABLE, "").trim();
  const url = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text);
  if (url !== null) return url[1]!.toLowerCase() === "file" ? undefined : hostAndPath(url[2]!);
  if (/^([a-z]:|[\\/.~])/i.test(text)) return undefined;
  // As scp writes it: `user@host:path`. An at sign after the colon means that the colon is one of a password.
  const scp = /^(?:[^/]*@)?(\[[^\]]+\]|[^/:@[]+):(?!\d+\/)\/*(.+)$/.exec(text);
  if (scp === null) return hostAndPath(text);
  const [, host, path] = scp as unknown as [string, string, string];
  return path.includes("@") ? repositoryName(afterLast("@", path)) : hostAndPath(`${host}/${path}`);
}

const afterLast = (mark: string, text: string): string => text.slice(text.lastIndexOf(mark) + 1);

/** @param text such as `user:password@host:22/path.git?query` */
function hostAndPath(text: string): string | undefined {
  const plain = text.split(/[?#]/, 1)[0]!;
  const authority = plain.split("/", 1)[0]!;
  // A colon that begins no port begins a password, which may hold a slash if nobody encoded it.
  const isPassword = /:(?!\d*$)/.test(authority) && !authority.startsWith("[");
  const rest =
    authority.includes("@") && !isPassword
      ? afterLast("@", authority) + plain.slice(authority.length)
      : isPassword
        ? afterLast("@", plain)
        : plain;
  const end = rest.indexOf("/");
  const named = (end === -1 ? rest : rest.slice(0, end)).toLowerCase().replace(/:\d*$/, "");
  const host = SSH_HOSTS.get(named) ?? named;
  const path = (end === -1 ? "" : rest.slice(end))
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .replace(/\/+$/, "");
  if (host === "") return undefined;
  return cleanName(path === "" ? host : `${host}/${path}`, LONGEST.repository);
}
