import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  refreshTokenGrant,
} from "openid-client";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import type { IdentitySettings } from "../../identity-settings.ts";
import { makeToken } from "../../key-format.ts";
import { HOUR_MS } from "../../times.ts";
import { ANSWER_SECONDS, boundedFetch } from "./bounded-fetch.ts";
import { type Claims, hasRole, isInGroup, type NamedRoles, NO_ROLES, rolesOf } from "./group-roles.ts";
import { createPendingSignIns, ownPath, type SignInSafety } from "./pending-sign-ins.ts";
import { awayFault, reasonOf, signInFault } from "./provider-faults.ts";

/** Below the public address. Registered at the identity provider. */
export const CALLBACK_PATH = "/api/v1/sign-in/callback";
/** How long an answer about a person counts, in ms. Processes trust a session for 30 s more, so access ends within a minute. */
export const RENEW_MS = 25_000;
/** No question about anybody after a provider did not answer, in ms. */
const PAUSE_MS = 10_000;
/** By which the clock of a provider may be off. */
const CLOCK_SECONDS = 120;

export interface PersonIdentity {
  issuer: string;
  /** Unique at the issuer. An email address can pass to another person; this cannot. */
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  /** Null if PLIMSOLL_OIDC_ROLE is not set; without any role if the expression gives none, or with a refusal. */
  roles: NamedRoles | null;
  /** Why the person may not enter, for them to read; null if they may. */
  refusal: string | null;
}

/** What a renewal needs. Contains tokens: keep it encrypted or in memory, and never log it. JSON. */
export interface Renewal {
  issuer: string;
  subject: string;
  accessToken: string;
  refreshToken: string | null;
  /** Claims of the ID token that the userinfo endpoint does not give. */
  idClaims: Claims;
}

/**
 * Keep the new `renewal`, also with `unknown`: a refresh token may work once. With `unknown`, the provider did not
 * answer, and what was known before counts. With `refused`, the person's groups no longer let them in; with `ended`, the
 * provider says no more about them.
 */
export type Renewed =
  | { status: "current"; identity: PersonIdentity; renewal: Renewal }
  | { status: "unknown"; renewal: Renewal }
  | { status: "refused"; identity: PersonIdentity }
  | { status: "ended" };

export interface IdentityProvider {
  issuer: string;
  /** For the button. */
  name: string;
  /** PLIMSOLL_OIDC_ROLE is set. */
  givesRoles: boolean;
  /**
   * Begins a sign-in.
   * @param returnTo a path of this server
   * @param binding what an earlier sign-in in this browser got, so that two tabs can sign in at once
   * @returns `url` to send the browser to; `binding` to keep in an HttpOnly cookie for 10 minutes
   * @throws PlimsollError `overloaded` if the provider is away, `setting_invalid`
   */
  begin(returnTo: string, binding?: string): Promise<{ url: string; state: string; binding: string }>;
  /**
   * Ends a sign-in.
   * @param callbackUrl the address that the provider sent the browser to, with its query
   * @returns `identity` may have a `refusal`
   * @throws PlimsollError `unauthenticated`, `overloaded`, `setting_invalid`
   */
  finish(
    callbackUrl: URL,
    binding: string | undefined,
  ): Promise<{ identity: PersonIdentity; returnTo: string; renewal: Renewal }>;
  /** Whether a person may still be here. Ask once in RENEW_MS. Calls with the same renewal share one answer. Never rejects. */
  renew(renewal: Renewal): Promise<Renewed>;
}

interface IdentityProviderOptions {
  settings: IdentitySettings;
  /** The origin that people open. */
  publicUrl: () => string;
  safety: SignInSafety;
  log: Logger;
  /** Epoch ms. */
  now?: () => number;
}

/** The identity provider of the settings, without a connection yet; undefined if there is none. */
export function openIdentityProvider({
  settings,
  publicUrl,
  safety,
  log,
  now = Date.now,
}: IdentityProviderOptions): IdentityProvider | undefined {
  const { PLIMSOLL_OIDC_ISSUER: issuer, PLIMSOLL_OIDC_ROLE: expression } = settings;
  if (issuer === undefined) return;
  const allowedGroups = settings.PLIMSOLL_OIDC_GROUPS;
  type Pending = { codeVerifier: string; nonce: string; returnTo: string };
  const pending = createPendingSignIns<Pending>("sign-in with the identity provider", safety, now);
  const configuration = keepDiscovered(issuer, settings, now);
  const redirectUri = () => `${publicUrl()}${CALLBACK_PATH}`;
  const renewing = new Map<string, Promise<Renewed>>();
  let pausedUntil = Number.NEGATIVE_INFINITY;

  function identityOf(of: { issuer: string; subject: string }, claims: Claims): PersonIdentity {
    const { roles = null, fault } = expression === undefined ? {} : rolesOf(expression, claims);
    if (fault !== undefined)
      log.warn({ subject: of.subject, fault }, "PLIMSOLL_OIDC_ROLE gave a person no usable role");
    const refusal = refusalOf(claims, roles);
    return {
      issuer: of.issuer,
      subject: of.subject,
      email: text(claims.email),
      // Amazon Cognito sends a text.
      emailVerified: claims.email_verified === true || claims.email_verified === "true",
      name: text(claims.name) ?? text(claims.preferred_username),
      roles: roles !== null && refusal !== null ? NO_ROLES : roles,
      refusal,
    };
  }

  function refusalOf(claims: Claims, roles: NamedRoles | null): string | null {
    if (allowedGroups.length > 0 && !isInGroup(claims, allowedGroups))
      return "Your account is in no group that may use Plimsoll. Ask an administrator to add it to one, then sign in again.";
    if (settings.PLIMSOLL_OIDC_STRICT && (roles === null || !hasRole(roles)))
      return "The groups of your account give it no role in Plimsoll. Ask an administrator to add it to a group, then sign in again.";
    return null;
  }

  /** All that the provider says about a person now. */
  async function ask(config: Configuration, renewal: Renewal): Promise<{ claims: Claims; renewal: Renewal }> {
    const { accessToken, subject, idClaims } = renewal;
    if (config.serverMetadata().userinfo_endpoint === undefined) {
      if (renewal.refreshToken !== null) return { claims: idClaims, renewal };
      throw new PlimsollError(
        "setting_invalid",
        `The identity provider ${issuer} has no userinfo endpoint and gave no refresh token, so nothing would end a session. Add offline_access to PLIMSOLL_OIDC_SCOPES.`,
      );
    }
    const said: Claims = await fetchUserInfo(config, accessToken, subject);
    const others = Object.entries(idClaims).filter(([name]) => !Object.hasOwn(said, name));
    return {
      claims: { ...idClaims, ...said },
      renewal: { ...renewal, idClaims: Object.fromEntries(others) },
    };
  }

  async function refreshed(config: Configuration, renewal: Renewal): Promise<Renewal> {
    if (renewal.refreshToken === null) return renewal;
    const tokens = await refreshTokenGrant(config, renewal.refreshToken);
    const idClaims = tokens.claims();
    if (idClaims !== undefined && idClaims.sub !== renewal.subject)
      throw new Error("the ID token is about another person");
    return {
      ...renewal,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? renewal.refreshToken,
      idClaims: idClaims ?? renewal.idClaims,
    };
  }

  async function renewOnce(old: Renewal): Promise<Renewed> {
    let renewal = old;
    try {
      const config = await configuration();
      if (config.serverMetadata().issuer !== old.issuer) return { status: "ended" };
      renewal = await refreshed(config, old);
      const asked = await ask(config, renewal);
      const identity = identityOf(old, asked.claims);
      if (identity.refusal === null) return { status: "current", identity, renewal: asked.renewal };
      log.info({ subject: old.subject, reason: identity.refusal }, "the identity provider ended a session");
      return { status: "refused", identity };
    } catch (error) {
      const away = awayFault(error, issuer as string);
      if (away === undefined && !isSetting(error)) {
        log.info({ subject: old.subject, reason: reasonOf(error) }, "the identity provider ended a session");
        return { status: "ended" };
      }
      pausedUntil = now() + PAUSE_MS;
      log.warn({ issuer, reason: (away ?? (error as Error)).message }, "no session was renewed");
      return { status: "unknown", renewal };
    }
  }

  return {
    issuer,
    givesRoles: expression !== undefined,
    name: settings.PLIMSOLL_OIDC_NAME ?? new URL(issuer).host,

    async begin(returnTo, binding = makeToken()) {
      const config = await configuration();
      const [nonce, codeVerifier] = [randomNonce(), randomPKCECodeVerifier()];
      const state = pending.seal(binding, { codeVerifier, nonce, returnTo: ownPath(returnTo) });
      const url = buildAuthorizationUrl(config, {
        redirect_uri: redirectUri(),
        scope: settings.PLIMSOLL_OIDC_SCOPES,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, state, binding };
    },

    async finish(callbackUrl, binding) {
      const state = callbackUrl.searchParams.get("state");
      const { codeVerifier, nonce, returnTo } = await pending.take(state, binding);
      // A proxy may have changed the host of the request; the provider compares the redirect URI.
      const answer = new URL(redirectUri());
      answer.search = callbackUrl.search;
      try {
        const config = await configuration();
        const tokens = await authorizationCodeGrant(config, answer, {
          expectedState: state as string,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
        });
        const idClaims = tokens.claims() as NonNullable<ReturnType<typeof tokens.claims>>;
        const person = { issuer: config.serverMetadata().issuer, subject: idClaims.sub };
        const { claims, renewal } = await ask(config, {
          ...person,
          accessToken: tokens.access_token,
          refreshToken: tokens.refresh_token ?? null,
          idClaims,
        });
        return { identity: identityOf(person, claims), returnTo, renewal };
      } catch (error) {
        throw signInFault(error, issuer);
      }
    },

    renew(renewal) {
      if (now() < pausedUntil) return Promise.resolve({ status: "unknown", renewal });
      const token = renewal.refreshToken ?? renewal.accessToken;
      let answer = renewing.get(token);
      if (answer === undefined) {
        answer = renewOnce(renewal).finally(() => renewing.delete(token));
        renewing.set(token, answer);
      }
      return answer;
    },
  };
}

const isSetting = (error: unknown) => error instanceof PlimsollError && error.code === "setting_invalid";

/** A claim for people to read. */
const text = (claim: unknown) => (typeof claim === "string" && claim !== "" ? claim.slice(0, 320) : null);

/** What the provider says about itself, asked again every hour. A provider that is away then keeps what it said before. */
function keepDiscovered(issuer: string, settings: IdentitySettings, now: () => number) {
  let kept: { config: Configuration; askAgainAt: number } | undefined;
  let asking: Promise<Configuration> | undefined;
  async function ask(): Promise<Configuration> {
    try {
      const config = await discover(issuer, settings);
      kept = { config, askAgainAt: now() + HOUR_MS };
      return config;
    } catch (error) {
      if (kept === undefined) throw discoveryFault(error, issuer);
      kept.askAgainAt = now() + PAUSE_MS;
      return kept.config;
    } finally {
      asking = undefined;
    }
  }
  return () => {
    if (kept !== undefined && now() < kept.askAgainAt) return Promise.resolve(kept.config);
    asking ??= ask();
    return asking;
  };
}

async function discover(issuer: string, settings: IdentitySettings): Promise<Configuration> {
  const { PLIMSOLL_OIDC_CLIENT_ID: clientId = "", PLIMSOLL_OIDC_CLIENT_SECRET: secret = "" } = settings;
  const basic = ClientSecretBasic(secret);
  const post = ClientSecretPost(secret);
  const authenticate: ClientAuth = (server, ...rest) => {
    // OpenID Connect Discovery: without the list, the method is client_secret_basic.
    const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
  };
  const config = await discovery(
    new URL(issuer),
    clientId,
    { [clockTolerance]: CLOCK_SECONDS },
    authenticate,
    {
      timeout: ANSWER_SECONDS,
      [customFetch]: boundedFetch(issuer),
      execute: [
        // openid-client trusts the TLS connection that brings an ID token; this checks its signature too.
        enableNonRepudiationChecks,
        ...(issuer.startsWith("http:") ? [allowInsecureRequests] : []),
      ],
    },
  );
  if (config.serverMetadata().issuer.includes("{tenantid}")) {
    throw new PlimsollError(
      "setting_invalid",
      `PLIMSOLL_OIDC_ISSUER=${issuer} lets every organization of the provider in. Name your tenant in it.`,
    );
  }
  return config;
}

const discoveryFault = (error: unknown, issuer: string) =>
  awayFault(error, issuer) ??
  (error instanceof PlimsollError
    ? error
    : new PlimsollError(
        "setting_invalid",
        `PLIMSOLL_OIDC_ISSUER=${issuer} is not the issuer of an identity provider: ${reasonOf(error)}. Copy the value "issuer" from its /.well-known/openid-configuration.`,
      ));
