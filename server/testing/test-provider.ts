import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

/** What the provider says about a person. */
export interface TestAccount {
  name?: string;
  email?: string;
  email_verified?: boolean;
  groups?: string[];
}

export interface TestProviderOptions {
  /** By login. Changes count from the next question on. */
  accounts: Record<string, TestAccount>;
  /** Where the provider sends browsers back to. */
  redirectUris: string[];
  /** Whether it gives refresh tokens, each of which works once. */
  refreshTokens?: boolean;
  /** 0 selects a free one. */
  port?: number;
}

export interface TestProvider {
  issuer: string;
  port: number;
  /** For the settings of a server. */
  env: { PLIMSOLL_OIDC_ISSUER: string; PLIMSOLL_OIDC_CLIENT_ID: string; PLIMSOLL_OIDC_CLIENT_SECRET: string };
  /**
   * Does what a person does in a browser of their own: opens the sign-in page, enters a login and consents, or cancels.
   * @returns where the provider sends the browser then
   */
  signIn(url: string, login: string, choice?: "consent" | "cancel"): Promise<URL>;
  setGroups(login: string, groups: string[]): void;
  /** Every access, refresh and ID token that it gave out. */
  tokens(): readonly string[];
  /** How often a refresh token was exchanged. */
  refreshes(): number;
  /** Ends all that the provider gave out for a person. */
  revoke(login: string): Promise<void>;
  /** Its connections break and its port refuses others, until `restart`. */
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** Making one takes longer than most tests. */
const SIGNING_KEY = {
  ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  ...{ kid: "test", alg: "RS256", use: "sig" },
};

const CLIENT = { client_id: "plimsoll", client_secret: "the secret/of+the client" };

/** A port that nobody listens on now. The provider has to know the address of the server before there is one. */
export async function freePort(): Promise<number> {
  const probe = await listen(createServer(), 0);
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

/** A real identity provider on loopback, with its own pages, which accept any password. */
export async function startTestProvider(options: TestProviderOptions): Promise<TestProvider> {
  const { accounts, redirectUris, refreshTokens = false } = options;
  let server = await listen(createServer(), options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const grants = new Map<string, Set<string>>();
  const tokens: string[] = [];
  let refreshes = 0;
  const provider = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", ...(refreshTokens ? ["refresh_token"] : [])],
      },
    ],
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: ["test"] },
    claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email", "email_verified"] },
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => refreshTokens,
    findAccount: (_: unknown, id: string) =>
      accounts[id] && { accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) },
  });
  provider.on("grant.success", ({ body, oidc: { entities } }) => {
    const { access_token, refresh_token, id_token } = body as Record<string, string | undefined>;
    tokens.push(...[access_token, refresh_token, id_token].filter((token) => token !== undefined));
    if (entities.AuthorizationCode === undefined) refreshes += 1;
    const { accountId, grantId } = (entities.AuthorizationCode ?? entities.RefreshToken) as {
      accountId: string;
      grantId: string;
    };
    grants.set(accountId, (grants.get(accountId) ?? new Set()).add(grantId));
  });
  const handle = provider.callback();
  server.on("request", handle);
  return {
    issuer,
    port,
    env: {
      PLIMSOLL_OIDC_ISSUER: issuer,
      PLIMSOLL_OIDC_CLIENT_ID: CLIENT.client_id,
      PLIMSOLL_OIDC_CLIENT_SECRET: CLIENT.client_secret,
    },
    signIn: (url, login, choice = "consent") => walk(url, issuer, login, choice),
    setGroups(login, groups) {
      accounts[login] = { ...accounts[login], groups };
    },
    tokens: () => tokens,
    refreshes: () => refreshes,
    async revoke(login) {
      for (const grantId of grants.get(login) ?? []) {
        await provider.RefreshToken.revokeByGrantId(grantId);
        await provider.AccessToken.revokeByGrantId(grantId);
      }
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
    async restart() {
      server = await listen(createServer(handle), port);
    },
  };
}

async function listen(server: Server, port: number): Promise<Server> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Follows the pages of the provider with a cookie jar, until they lead away from it. */
async function walk(from: string, issuer: string, login: string, choice: "consent" | "cancel"): Promise<URL> {
  const jar = new Map<string, string>();
  let url = new URL(from);
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") },
      redirect: "manual",
      ...(form !== undefined && { body: form }),
    });
    form = undefined;
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      if (url.origin !== issuer) return url;
      continue;
    }
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    const [, submit] = /action="([^"]+)"/.exec(page) ?? [];
    const [, abort] = /href="([^"]+\/abort)"/.exec(page) ?? [];
    if (prompt === undefined || submit === undefined || abort === undefined)
      throw new Error(`The provider answered ${response.status}: ${page.slice(0, 500)}`);
    if (choice === "cancel") url = new URL(abort, url);
    else {
      url = new URL(submit, url);
      form = new URLSearchParams({ prompt, ...(prompt === "login" && { login, password: "any" }) });
    }
  }
  throw new Error("The provider redirected 20 times.");
}
