import { type LoginAnswer, PasskeySignIn, type SignInWays } from "@plimsoll/protocol/api";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { makeToken } from "../key-format.ts";
import { type Browsers, sessionCookie } from "../tenants/access/browser.ts";
import { checkOrigin, isHttps } from "../tenants/access/origin.ts";
import { type Access, factsOf } from "../tenants/access/principal.ts";
import type { Audit } from "../tenants/audit/audit.ts";
import { CALLBACK_PATH, type IdentityProvider } from "../tenants/people/identity-provider.ts";
import type { Passkeys } from "../tenants/people/passkeys.ts";
import { SIGN_IN_MS } from "../tenants/people/pending-sign-ins.ts";
import type { People } from "../tenants/people/people.ts";
import { limitedBody, type MachineContext, type MachineEnv } from "./app.ts";
import { FAILURE_PAGE_HEADERS, failurePage } from "./failure-page.ts";
import { foreseen, logError, nextRequestId } from "./respond.ts";

export interface SignInDeps {
  access: Pick<Access, "clientOf">;
  browsers: Pick<Browsers, "loginAs" | "takesAccessToken">;
  people: Pick<People, "admit">;
  passkeys: Pick<Passkeys, "areOffered" | "beginSignIn" | "signIn">;
  provider: IdentityProvider | undefined;
  audit: Pick<Audit, "loginFailed">;
  /** PLIMSOLL_PUBLIC_URL. */
  publicUrl: string | undefined;
  log: Logger;
}

/** Ties a sign-in to the browser that began it. */
const BINDING = "plimsoll_sign_in";
const START_PATH = "/api/v1/sign-in/start";
const PASSKEY_PATH = "/api/v1/sign-in/passkey";
const PASSKEY_BYTES = 32_768;

/** How a person signs in with the identity provider or a passkey. */
export const signInRoutes =
  ({ access, browsers, people, passkeys, provider, audit, publicUrl, log }: SignInDeps) =>
  (app: Hono<MachineEnv>): void => {
    const isSecure = (c: MachineContext) => isHttps(c.env.incoming, publicUrl);

    /** A person reads these answers, so an error is a page. */
    async function asPage(c: MachineContext, answer: () => Promise<Response>): Promise<Response> {
      try {
        return await answer();
      } catch (thrown) {
        const error = foreseen(thrown);
        logError(log, error, { method: c.req.method, path: c.req.path, requestId: nextRequestId() });
        const status = (error instanceof PlimsollError ? error.status : 500) as 500;
        const page = failurePage(error, { title: "You are not signed in", again: "/login" });
        return c.body(page, status, FAILURE_PAGE_HEADERS);
      }
    }

    function requireProvider(): IdentityProvider {
      if (provider !== undefined) return provider;
      throw new PlimsollError("not_found", "No identity provider is set up. Set PLIMSOLL_OIDC_ISSUER.");
    }

    /** Ties a sign-in to this browser, by the cookie of an earlier one if it has that. */
    function bind(c: MachineContext, binding: string, sameSite: "Lax" | "Strict"): void {
      setCookie(c, BINDING, binding, {
        path: "/api/v1/sign-in",
        httpOnly: true,
        sameSite,
        secure: isSecure(c),
        maxAge: SIGN_IN_MS / 1_000,
      });
    }

    function begin(c: MachineContext, session: string): void {
      const asked = { host: c.env.incoming.headers.host, secure: isSecure(c) };
      c.header("Set-Cookie", sessionCookie(session, asked), { append: true });
      c.header("Cache-Control", "no-store");
    }

    app.get("/api/v1/sign-in", async (c) =>
      c.json({
        access_token: browsers.takesAccessToken,
        identity_provider: provider?.name ?? null,
        // The other ways must be offered also while the database is away.
        passkeys: await passkeys.areOffered(siteOf(c)).catch(() => false),
      } satisfies SignInWays),
    );

    app.post(`${PASSKEY_PATH}/start`, async (c) => {
      const origin = ownOrigin(c);
      const binding = getCookie(c, BINDING) ?? makeToken();
      const options = await passkeys.beginSignIn(origin, binding);
      bind(c, binding, "Strict");
      return c.json(options);
    });

    app.post(PASSKEY_PATH, limitedBody(PASSKEY_BYTES), async (c) => {
      const origin = ownOrigin(c);
      const client = access.clientOf(factsOf(c.env.incoming));
      try {
        const body = PasskeySignIn.safeParse(await c.req.json().catch(() => undefined));
        if (!body.success)
          throw new PlimsollError("bad_request", 'Send JSON: {"credential": ...}, as the browser gives it.');
        const answer = body.data.credential as unknown as AuthenticationResponseJSON;
        const person = await passkeys.signIn(origin, getCookie(c, BINDING), answer);
        const by = { userAgent: c.req.header("user-agent"), detail: "with a passkey" };
        begin(c, await browsers.loginAs(person, client, by));
        return c.json({ ok: true, person: true } satisfies LoginAnswer);
      } catch (error) {
        audit.loginFailed(client);
        throw error;
      }
    });

    app.get(START_PATH, (c) =>
      asPage(c, async () => {
        const { url, binding } = await requireProvider().begin(
          c.req.query("next") ?? "/",
          getCookie(c, BINDING),
        );
        // The provider sends the browser back from another site.
        bind(c, binding, "Lax");
        return c.redirect(url, 302);
      }),
    );

    app.get(CALLBACK_PATH, (c) =>
      asPage(c, async () => {
        const { incoming } = c.env;
        const client = access.clientOf(factsOf(incoming));
        try {
          const { identity, returnTo, renewal } = await requireProvider().finish(
            new URL(c.req.url),
            getCookie(c, BINDING),
          );
          const person = await people.admit(identity);
          const by = { userAgent: c.req.header("user-agent") };
          begin(c, await browsers.loginAs({ ...person, renewal }, client, by));
          // A redirect would still come from the provider's site, and browsers then leave out a cookie with SameSite=Strict.
          c.header("Refresh", `0; url=${returnTo}`);
          return c.html("<!doctype html><title>Plimsoll</title><p>Signed in.</p>");
        } catch (error) {
          audit.loginFailed(client);
          throw error;
        }
      }),
    );
  };

/** @throws PlimsollError `forbidden_scope` for a page of another origin, or what is no browser */
function ownOrigin(c: MachineContext): string {
  const facts = factsOf(c.env.incoming);
  if (facts.origin !== undefined && checkOrigin(facts)) return facts.origin;
  throw new PlimsollError("forbidden_scope", "Sign in from this server's own page.");
}

const siteOf = (c: MachineContext) => new URL(`http://${c.req.header("host")}`).hostname;
