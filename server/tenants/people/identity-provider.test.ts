import { generateKeyPairSync, sign } from "node:crypto";
import { Writable } from "node:stream";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { createLogger } from "../../log.ts";
import { SecretBox } from "../../secret-box.ts";
import { readSettings } from "../../settings.ts";
import { type Receiver, startReceiver } from "../../testing/receiver.ts";
import { startTestProvider, type TestProviderOptions } from "../../testing/test-provider.ts";
import {
  CALLBACK_PATH,
  type IdentityProvider,
  openIdentityProvider,
  type Renewal,
} from "./identity-provider.ts";
import { SIGN_IN_MS } from "./pending-sign-ins.ts";

const PUBLIC_URL = "https://plimsoll.example";
const ROLE = "contains(groups, 'ops') && 'admin' || contains(groups, 'dev') && {Fleet: 'editor'}";
const ADA = { name: "Ada", email: "ada@example.com", email_verified: true, groups: ["ops"] };
const ended = new Set<string>();
/** Of all servers of a database. */
const SAFETY = {
  box: new SecretBox("a secret that all servers have, of 32 and more bytes"),
  endOnce: async (state: string) => ended.size < ended.add(state).size,
};
const closing: (() => Promise<void>)[] = [];
let logged = "";
let clock = Date.now();

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(() => {
  // Each test logs here.
  expect(logged).toContain("the identity provider ended a session");
  expect(logged).not.toMatch(/eyJ|secret\/of/);
});

function open(env: Record<string, string>): IdentityProvider {
  const destination = new Writable({
    write(chunk, _, done) {
      logged += chunk;
      done();
    },
  });
  const provider = openIdentityProvider({
    settings: readSettings(env),
    publicUrl: () => PUBLIC_URL,
    safety: SAFETY,
    log: createLogger({ level: "trace" }, destination),
    now: () => clock,
  });
  return provider!;
}

async function setUp(env: Record<string, string> = {}, options: Partial<TestProviderOptions> = {}) {
  const real = await startTestProvider({
    accounts: { ada: { ...ADA }, bob: { groups: ["sales"] } },
    redirectUris: [PUBLIC_URL + CALLBACK_PATH],
    ...options,
  });
  closing.push(() => real.stop());
  const provider = open({ ...real.env, PLIMSOLL_OIDC_ROLE: ROLE, ...env });
  async function signIn(login = "ada") {
    const { url, binding } = await provider.begin("/sessions?from=now-6h");
    return provider.finish(await real.signIn(url, login), binding);
  }
  return { real, provider, signIn };
}

async function refusal(doing: Promise<unknown>): Promise<PlimsollError> {
  const error = await doing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof PlimsollError) return error;
  throw new Error(`This was not refused: ${error}`);
}

describe("sign-in", () => {
  it("identifies a person, gives roles by group, and returns to the page", async () => {
    const { real, signIn } = await setUp();
    const { identity, returnTo, renewal } = await signIn();
    expect(identity).toEqual({
      issuer: real.issuer,
      subject: "ada",
      email: "ada@example.com",
      emailVerified: true,
      name: "Ada",
      roles: { everywhere: "admin", projects: {} },
      refusal: null,
    });
    expect(returnTo).toBe("/sessions?from=now-6h");
    expect(JSON.parse(JSON.stringify(renewal))).toEqual(renewal);
    real.setGroups("ada", ["dev"]);
    expect((await signIn()).identity.roles).toEqual({ everywhere: null, projects: { Fleet: "editor" } });
    expect((await signIn("bob")).identity).toMatchObject({
      email: null,
      emailVerified: false,
      roles: { everywhere: null, projects: {} },
    });
  });

  it("asks with a code challenge, a nonce, a state and the registered redirect URI", async () => {
    const { provider } = await setUp();
    const { url, state } = await provider.begin("/");
    const sent = Object.fromEntries(new URL(url).searchParams);
    expect(sent).toMatchObject({
      response_type: "code",
      client_id: "plimsoll",
      redirect_uri: PUBLIC_URL + CALLBACK_PATH,
      scope: "openid email profile",
      code_challenge_method: "S256",
      state,
    });
    expect(sent.code_challenge).toHaveLength(43);
    expect(sent.nonce!.length).toBeGreaterThan(30);
  });

  it.each(["//evil.example", "/\\evil.example", "https://evil.example", "/a b", ""])(
    "returns to no other server: %j",
    async (path) => {
      const { real, provider } = await setUp();
      const { url, binding } = await provider.begin(path);
      expect((await provider.finish(await real.signIn(url, "ada"), binding)).returnTo).toBe("/");
    },
  );

  it("ends once, in time, in the browser that began it", async () => {
    const { real, provider } = await setUp();
    const begin = () => provider.begin("/");
    const first = await begin();
    const callback = await real.signIn(first.url, "ada");
    await provider.finish(callback, first.binding);
    expect((await refusal(provider.finish(callback, first.binding))).message).toContain("already used");

    for (const binding of [undefined, "", (await begin()).binding]) {
      const other = await real.signIn((await begin()).url, "ada");
      expect(await refusal(provider.finish(other, binding))).toMatchObject({
        code: "unauthenticated",
        message: expect.stringContaining("another browser"),
      });
    }
    const late = await begin();
    const lateCallback = await real.signIn(late.url, "ada");
    clock += SIGN_IN_MS;
    expect((await refusal(provider.finish(lateCallback, late.binding))).message).toContain("10 minutes");
  });

  it("may end on another server with the same secret, after any number of sign-ins of strangers", async () => {
    const { real, provider } = await setUp();
    const other = open({ ...real.env, PLIMSOLL_OIDC_ROLE: ROLE });
    const { url, binding } = await provider.begin("/sessions");
    for (let at = 0; at < 10_001; at++) await provider.begin("/");
    const callback = await real.signIn(url, "ada");
    expect(await other.finish(callback, binding)).toMatchObject({
      identity: { subject: "ada" },
      returnTo: "/sessions",
    });
  });

  it("refuses another state, and a code of another sign-in", async () => {
    const { real, provider } = await setUp();
    const one = await provider.begin("/");
    const wrong = await real.signIn(one.url, "ada");
    wrong.searchParams.set("state", "guessed");
    expect((await refusal(provider.finish(wrong, one.binding))).code).toBe("unauthenticated");

    const two = await provider.begin("/");
    const injected = await real.signIn(two.url, "ada");
    injected.searchParams.set("state", one.state);
    // The code belongs to another code challenge.
    expect(await refusal(provider.finish(injected, one.binding))).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("invalid_grant"),
    });
  });

  it("lets two tabs sign in at once", async () => {
    const { real, provider } = await setUp();
    const one = await provider.begin("/one");
    const two = await provider.begin("/two", one.binding);
    expect(two.binding).toBe(one.binding);
    expect((await provider.finish(await real.signIn(one.url, "ada"), two.binding)).returnTo).toBe("/one");
    expect((await provider.finish(await real.signIn(two.url, "ada"), two.binding)).returnTo).toBe("/two");
  });

  it("refuses the answer of another issuer, and one without an issuer", async () => {
    const { real, provider } = await setUp();
    const other = await setUp();
    for (const iss of [other.real.issuer, undefined]) {
      const { url, binding } = await provider.begin("/");
      const callback = await real.signIn(url, "ada");
      callback.searchParams.delete("iss");
      if (iss !== undefined) callback.searchParams.set("iss", iss);
      expect((await refusal(provider.finish(callback, binding))).message).toContain('"iss"');
    }
  });

  it("says that the person cancelled", async () => {
    const { real, provider } = await setUp();
    const { url, binding } = await provider.begin("/");
    expect(await refusal(provider.finish(await real.signIn(url, "ada", "cancel"), binding))).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("access_denied, End-User aborted interaction"),
    });
  });

  it("names the settings if the provider refuses the client", async () => {
    const { signIn } = await setUp({ PLIMSOLL_OIDC_CLIENT_SECRET: "wrong" });
    const error = await refusal(signIn());
    expect(error).toMatchObject({ code: "setting_invalid" });
    expect(error.message).toContain("PLIMSOLL_OIDC_CLIENT_SECRET");
    expect(error.message).not.toContain("wrong");
  });

  it("lets only allowed groups in, and in strict mode only people with a role", async () => {
    const groups = await setUp({ PLIMSOLL_OIDC_GROUPS: "ops, sales" });
    expect((await groups.signIn()).identity).toMatchObject({ subject: "ada", refusal: null });
    expect((await groups.signIn("bob")).identity.refusal).toBeNull();
    groups.real.setGroups("ada", ["dev"]);
    // The expression would give her a role.
    expect((await groups.signIn()).identity).toMatchObject({
      refusal: expect.stringContaining("no group that may use"),
      roles: { everywhere: null, projects: {} },
    });
    const strict = await setUp({ PLIMSOLL_OIDC_STRICT: "true" });
    expect((await strict.signIn()).identity).toMatchObject({ subject: "ada", refusal: null });
    expect((await strict.signIn("bob")).identity.refusal).toContain("no role");
    const setUpHere = await setUp({ PLIMSOLL_OIDC_GROUPS: "dev", PLIMSOLL_OIDC_ROLE: "" });
    expect((await setUpHere.signIn()).identity).toMatchObject({
      refusal: expect.stringContaining("no group"),
      roles: null,
    });
  });
});

describe.each([false, true])("renewal, with refresh tokens: %s", (refreshTokens) => {
  it("goes on, and sees other roles", async () => {
    const { real, provider, signIn } = await setUp({}, { refreshTokens });
    let { renewal } = await signIn();
    expect(renewal.refreshToken !== null).toBe(refreshTokens);
    real.setGroups("ada", ["dev"]);
    for (let turn = 0; turn < 3; turn++) {
      // Two requests at once use a token that works once.
      const [one, two] = await Promise.all([provider.renew(renewal), provider.renew({ ...renewal })]);
      expect(two).toEqual(one);
      if (one.status !== "current") throw new Error(one.status);
      expect(one.identity.roles).toEqual({ everywhere: null, projects: { Fleet: "editor" } });
      renewal = JSON.parse(JSON.stringify(one.renewal)) as Renewal;
    }
  });

  it("ends the session of a person who left the group, or was revoked", async () => {
    const { real, provider, signIn } = await setUp({ PLIMSOLL_OIDC_GROUPS: "ops" }, { refreshTokens });
    const left = (await signIn()).renewal;
    const revoked = (await signIn()).renewal;
    await real.revoke("ada");
    expect(await provider.renew(revoked)).toEqual({ status: "ended" });
    const fresh = (await signIn()).renewal;
    real.setGroups("ada", []);
    expect(await provider.renew(fresh)).toMatchObject({
      status: "refused",
      identity: { subject: "ada", roles: { everywhere: null, projects: {} } },
    });
    expect(await provider.renew(left)).toEqual({ status: "ended" });
  });

  it("ends no session while the provider is away, and asks it again soon", async () => {
    const { real, provider, signIn } = await setUp({}, { refreshTokens });
    const { renewal } = await signIn();
    await real.stop();
    expect(await provider.renew(renewal)).toEqual({ status: "unknown", renewal });
    await real.restart();
    expect(await provider.renew(renewal)).toEqual({ status: "unknown", renewal });
    clock += 10_000;
    expect(await provider.renew(renewal)).toMatchObject({ status: "current" });
  });
});

describe("a provider that is away", () => {
  it("is found once it is back, and named until then", async () => {
    const { real, provider, signIn } = await setUp();
    await real.stop();
    for (let turn = 0; turn < 2; turn++) {
      expect(await refusal(provider.begin("/"))).toMatchObject({
        code: "overloaded",
        status: 503,
        message: `The identity provider ${real.issuer} cannot be reached: ${new URL(real.issuer).host}, ECONNREFUSED. Try again in a moment.`,
      });
    }
    await real.restart();
    expect((await signIn()).identity.subject).toBe("ada");
    // An hour later it is away, which matters only to whoever needs it.
    const { url, binding } = await provider.begin("/");
    const callback = await real.signIn(url, "ada");
    await real.stop();
    clock += 5 * 60_000;
    expect((await refusal(provider.finish(callback, binding))).code).toBe("overloaded");
    clock += 60 * 60_000;
    expect((await provider.begin("/")).url).toContain(real.issuer);
    await real.restart();
  });
});

/** A provider that says whatever a test wants. */
async function hostile() {
  const receiver: Receiver = await startReceiver();
  closing.push(() => receiver.close());
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const issuer = receiver.url;
  const said = {
    metadata: {} as object,
    header: {} as object,
    claims: {} as object,
    signedBy: privateKey,
    userinfo: { sub: "ada" } as object,
    tokens: {} as object,
    /** Replaces an answer. */
    raw: {} as Record<string, { status?: number; type?: string; body: string }>,
    slow: "",
  };
  let nonce = "";
  const idToken = () => {
    const now = Math.floor(Date.now() / 1_000);
    const payload = {
      iss: issuer,
      aud: "plimsoll",
      sub: "ada",
      nonce,
      iat: now,
      exp: now + 300,
      ...said.claims,
    };
    const parts = [{ alg: "RS256", kid: "one", ...said.header }, payload];
    const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    const isSigned = !("alg" in said.header && said.header.alg === "none");
    const signature = isSigned ? sign("sha256", Buffer.from(input), said.signedBy).toString("base64url") : "";
    return `${input}.${signature}`;
  };
  const answers: Record<string, () => object> = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      ...said.metadata,
    }),
    "/jwks": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig" }] }),
    "/token": () => ({ access_token: "access", token_type: "bearer", id_token: idToken(), ...said.tokens }),
    "/userinfo": () => said.userinfo,
  };
  receiver.answer(({ path }, response) => {
    if (path === said.slow) return response.write("{");
    const {
      status = 200,
      type = "application/json",
      body,
    } = said.raw[path] ?? {
      body: JSON.stringify(answers[path]!()),
    };
    response.writeHead(status, { "content-type": type }).end(body);
  });
  const provider = open({
    PLIMSOLL_OIDC_ISSUER: issuer,
    PLIMSOLL_OIDC_CLIENT_ID: "plimsoll",
    PLIMSOLL_OIDC_CLIENT_SECRET: "s",
  });
  async function signIn() {
    const { url, binding, state } = await provider.begin("/");
    nonce = new URL(url).searchParams.get("nonce")!;
    const callback = new URL(`${PUBLIC_URL}${CALLBACK_PATH}?code=code&state=${state}`);
    return provider.finish(callback, binding);
  }
  return { said, stranger, issuer, provider, signIn, receiver };
}

const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset;

describe("an answer of a provider", () => {
  it("is taken if all of it is right, with a clock that is a minute off", async () => {
    const { said, signIn } = await hostile();
    expect((await signIn()).identity).toMatchObject({ subject: "ada", roles: null });
    for (const offset of [-60, 60]) {
      said.claims = { iat: seconds(offset), nbf: seconds(offset), exp: seconds(offset + 30) };
      expect((await signIn()).identity.subject).toBe("ada");
    }
  });

  it.each([
    ["unsigned", { header: { alg: "none" } }, /alg/],
    ["signed with the client's secret", { header: { alg: "HS256" } }, /alg/],
    ["for another client", { claims: { aud: "other" } }, /aud/],
    ["of another issuer", { claims: { iss: "https://evil.example" } }, /iss/],
    ["of another sign-in", { claims: { nonce: "other" } }, /nonce/],
    ["expired", { claims: { exp: seconds(-600) } }, /Compare the clocks/],
    ["signed with an unknown key", { header: { kid: "two" } }, /key/],
    ["missing", { tokens: { id_token: undefined } }, /id_token/],
    ["contradicted by the userinfo endpoint", { userinfo: { sub: "eve" } }, /sub/],
  ])("is refused if the ID token is %s", async (_, change, expected) => {
    const { said, signIn, issuer } = await hostile();
    Object.assign(said, change);
    const error = await refusal(signIn());
    expect(error.code).toBe("unauthenticated");
    expect(error.message).toMatch(expected);
    expect(error.message).toContain(issuer);
  });

  it("is refused if another key signed it", async () => {
    const { said, signIn, stranger } = await hostile();
    said.signedBy = stranger;
    expect((await refusal(signIn())).message).toContain("signature verification failed");
  });

  it.each(["/.well-known/openid-configuration", "/token", "/userinfo", "/jwks"])(
    "is refused if it has no end or is no JSON: %s",
    async (path) => {
      const { said, signIn } = await hostile();
      said.raw[path] = { body: JSON.stringify({ filler: "x".repeat(2 * 1024 * 1024) }) };
      expect(await refusal(signIn())).toMatchObject({
        code: "overloaded",
        message: expect.stringContaining("more than 1 MiB"),
      });
      said.raw[path] = { type: "text/html", body: "<html>Maintenance" };
      expect((await refusal(signIn())).code).toBe("overloaded");
      said.raw[path] = { status: 502, body: "{}" };
      expect((await refusal(signIn())).message).toContain("answered 502");
    },
  );

  it.each(["/token", "/userinfo"])("must arrive within 5 s: %s", async (path) => {
    const { said, signIn } = await hostile();
    said.slow = path;
    const began = performance.now();
    expect((await refusal(signIn())).message).toContain("in 5 s");
    expect(performance.now() - began).toBeGreaterThan(4_000);
  });

  it("names the setting if the issuer is another", async () => {
    const { said, provider } = await hostile();
    said.metadata = { issuer: "https://evil.example" };
    expect(await refusal(provider.begin("/"))).toMatchObject({
      code: "setting_invalid",
      message: expect.stringContaining("PLIMSOLL_OIDC_ISSUER"),
    });
  });

  it("needs something to ask later", async () => {
    const { said, signIn } = await hostile();
    said.metadata = { userinfo_endpoint: undefined };
    expect((await refusal(signIn())).message).toContain("offline_access");
  });

  it("keeps a new refresh token if the next answer does not come", async () => {
    const { said, provider, signIn } = await hostile();
    said.tokens = { refresh_token: "first" };
    const { renewal } = await signIn();
    said.tokens = { refresh_token: "second" };
    said.raw["/userinfo"] = { status: 503, body: "" };
    expect(await provider.renew(renewal)).toMatchObject({
      status: "unknown",
      renewal: { refreshToken: "second" },
    });
  });

  it("ends a session if it is about another person, or the token is refused", async () => {
    const { said, provider, signIn } = await hostile();
    const { renewal } = await signIn();
    said.userinfo = { sub: "eve" };
    expect(await provider.renew(renewal)).toEqual({ status: "ended" });
    said.raw["/userinfo"] = { status: 401, body: "" };
    expect(await provider.renew(renewal)).toEqual({ status: "ended" });
    said.userinfo = { sub: "ada" };
    said.raw = {};
    said.claims = { sub: "eve" };
    expect(await provider.renew({ ...renewal, refreshToken: "r" })).toEqual({ status: "ended" });
    expect(await provider.renew({ ...renewal, issuer: "https://old.example" })).toEqual({ status: "ended" });
  });

  it("counts claims of the ID token until the userinfo endpoint contradicts them", async () => {
    const { said, provider, signIn, issuer } = await hostile();
    said.claims = { groups: ["ops"], name: "Ada" };
    said.userinfo = { sub: "ada", name: "Ada L." };
    const { identity, renewal } = await signIn();
    expect(identity.name).toBe("Ada L.");
    expect(renewal.idClaims).toMatchObject({ groups: ["ops"], iss: issuer });
    said.userinfo = { sub: "ada" };
    const renewed = await provider.renew(renewal);
    expect(renewed).toMatchObject({ status: "current", identity: { name: null } });
  });
});
