import type { SignInWays } from "@plimsoll/protocol/api";
import type { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { type Browsers, sessionCookie } from "../tenants/access/browser.ts";
import { isHttps } from "../tenants/access/origin.ts";
import { type Access, factsOf } from "../tenants/access/principal.ts";
import type { Audit } from "../tenants/audit/audit.ts";
import { CALLBACK_PATH, type IdentityProvider } from "../tenants/people/identity-provider.ts";
import { SIGN_IN_MS } from "../tenants/people/pending-sign-ins.ts";
import type { People } from "../tenants/people/people.ts";
import type { MachineContext, MachineEnv } from "./app.ts";
import { FAILURE_PAGE_HEADERS, failurePage } from "./failure-page.ts";
import { foreseen, logError, nextRequestId } from "./respond.ts";

export interface SignInDeps {
  access: Pick<Access, "clientOf">;
  browsers: Pick<Browsers, "loginAs" | "takesAccessToken">;
  people: Pick<People, "admit">;
  provider: IdentityProvider | undefined;
  audit: Pick<Audit, "loginFailed">;
  /** PLIMSOLL_PUBLIC_URL. */
  publicUrl: string | undefined;
  log: Logger;
}

/** Ties a sign-in to the browser that began it. */
const BINDING = "plimsoll_sign_in";
const START_PATH = "/api/v1/sign-in/start";

/** How a person signs in with the identity provider. */
export const signInRoutes =
  ({ access, browsers, people, provider, audit, publicUrl, log }: SignInDeps) =>
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

    app.get("/api/v1/sign-in", (c) =>
      c.json({
        access_token: browsers.takesAccessToken,
        identity_provider: provider?.name ?? null,
      } satisfies SignInWays),
    );

    app.get(START_PATH, (c) =>
      asPage(c, async () => {
        const { url, binding } = await requireProvider().begin(
          c.req.query("next") ?? "/",
          getCookie(c, BINDING),
        );
        // Lax: the provider sends the browser back from another site.
        setCookie(c, BINDING, binding, {
          path: "/api/v1/sign-in",
          httpOnly: true,
          sameSite: "Lax",
          secure: isSecure(c),
          maxAge: SIGN_IN_MS / 1_000,
        });
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
          const session = await browsers.loginAs({ ...person, renewal }, client, c.req.header("user-agent"));
          const asked = { host: incoming.headers.host, secure: isSecure(c) };
          c.header("Set-Cookie", sessionCookie(session, asked), { append: true });
          c.header("Cache-Control", "no-store");
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
