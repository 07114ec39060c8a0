import type { BlockList } from "node:net";
import { isLoopbackAddress } from "./networks.ts";

/** The settings that decide who reaches the server, and how. */
export interface ListeningSettings {
  PLIMSOLL_LISTEN: string;
  PLIMSOLL_PUBLIC_URL?: string | undefined;
  PLIMSOLL_TLS_CERT?: string | undefined;
  PLIMSOLL_TLS_KEY?: string | undefined;
  PLIMSOLL_TRUSTED_PROXIES: Pick<BlockList, "rules">;
  PLIMSOLL_ACCESS_TOKEN?: string | undefined;
  PLIMSOLL_OIDC_ISSUER?: string | undefined;
}

/** How a person on another machine may sign in, besides a login link that somebody made on the server's machine. */
export type SignInWay = "nobody" | "access_token" | "identity_provider";

/** With both, the access token is the way in while the identity provider is away. */
export function whoMayEnter({ PLIMSOLL_ACCESS_TOKEN, PLIMSOLL_OIDC_ISSUER }: ListeningSettings): SignInWay {
  if (PLIMSOLL_OIDC_ISSUER !== undefined) return "identity_provider";
  return PLIMSOLL_ACCESS_TOKEN === undefined ? "nobody" : "access_token";
}

export const listensOnLoopback = ({ PLIMSOLL_LISTEN: host }: Pick<ListeningSettings, "PLIMSOLL_LISTEN">) =>
  host === "localhost" || isLoopbackAddress(host);

/** What is missing or contradicts itself, a sentence each. Empty if the server may listen. */
export function listeningFaults(settings: ListeningSettings): string[] {
  const { PLIMSOLL_PUBLIC_URL: url, PLIMSOLL_TLS_CERT: cert, PLIMSOLL_TLS_KEY: key } = settings;
  const hasTls = cert !== undefined && key !== undefined;
  const isHttps = url?.startsWith("https:") === true;
  const faults: string[] = [];
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? ["KEY", "CERT"] : ["CERT", "KEY"];
    faults.push(`PLIMSOLL_TLS_${given} also needs PLIMSOLL_TLS_${missing}.`);
  }
  if (hasTls && url !== undefined && !isHttps)
    faults.push(`PLIMSOLL_PUBLIC_URL must begin with https:// if this server has a certificate, not ${url}.`);
  if (listensOnLoopback(settings)) return faults;
  const needs = (what: string) =>
    faults.push(
      `PLIMSOLL_LISTEN=${settings.PLIMSOLL_LISTEN} lets other machines connect, which needs ${what}.`,
    );
  if (whoMayEnter(settings) === "nobody")
    needs(
      "PLIMSOLL_OIDC_ISSUER, the identity provider of the people who sign in, or PLIMSOLL_ACCESS_TOKEN, with which they do: make one with openssl rand -base64 32",
    );
  if (!hasTls && settings.PLIMSOLL_TRUSTED_PROXIES.rules.length === 0)
    needs(
      "PLIMSOLL_TLS_CERT and PLIMSOLL_TLS_KEY, or a reverse proxy with TLS in front and its address in PLIMSOLL_TRUSTED_PROXIES",
    );
  if (!isHttps) needs("PLIMSOLL_PUBLIC_URL, the https:// address that people open");
  return faults;
}
