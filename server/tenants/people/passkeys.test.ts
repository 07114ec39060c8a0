import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SecretBox } from "../../secret-box.ts";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { TestAuthenticator } from "../../testing/test-authenticator.ts";
import { createPasskeys, type Passkeys } from "./passkeys.ts";
import { signInSafety } from "./pending-sign-ins.ts";
import { INVITED } from "./people.ts";

const START = Date.parse("2026-11-20T12:00:00Z");
const ORIGIN = "https://plimsoll.example";
const BROWSER = "a browser";
/** Of all servers of a database. */
const BOX = new SecretBox("a secret that all servers have, of 32 and more bytes");

let database: TestDatabase;
let passkeys: Passkeys;
let time: number;
let ada: string;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  time = START;
  passkeys = onServer(0);
  ada = await person("Ada");
});

/** @param ahead of the time of the other servers, ms */
function onServer(ahead: number): Passkeys {
  const { prisma } = database;
  const now = () => time + ahead;
  return createPasskeys({ prisma, safety: signInSafety(prisma, BOX, now), now });
}

async function person(name: string, issuer = INVITED): Promise<string> {
  const id = randomUUID();
  await database.prisma.person.create({
    data: { id, issuer, subject: id, name, createdAt: new Date(START) },
  });
  return id;
}

/** Adds a passkey of somebody, as their browser does. */
async function added(owner = ada, authenticator = new TestAuthenticator()): Promise<TestAuthenticator> {
  const options = await passkeys.begin(owner, ORIGIN, BROWSER);
  const at = { origin: ORIGIN, binding: BROWSER, name: "laptop" };
  await passkeys.add(at, authenticator.create(options, { origin: ORIGIN }), LOCAL);
  return authenticator;
}

describe("a passkey", () => {
  it("signs its owner in, and tells when it was used", async () => {
    const authenticator = await added();
    expect(await passkeys.list(ada)).toMatchObject([{ name: "laptop", last_used_at: null }]);
    time += 60_000;
    const options = await passkeys.beginSignIn(ORIGIN, BROWSER);
    const answer = authenticator.get(options, { origin: ORIGIN });
    expect(await passkeys.signIn(ORIGIN, BROWSER, answer)).toEqual({ id: ada, name: "Ada" });
    expect(await passkeys.list(ada)).toMatchObject([
      { site: "plimsoll.example", last_used_at: "2026-11-20T12:01:00.000Z" },
    ]);
    const { lastLoginAt } = await database.prisma.person.findUniqueOrThrow({ where: { id: ada } });
    expect(lastLoginAt?.getTime()).toBe(time);
  });

  it("that was begun on one server ends on another, once, whatever their clocks say", async () => {
    const other = onServer(-60_000);
    const options = await passkeys.begin(ada, ORIGIN, BROWSER);
    const authenticator = new TestAuthenticator();
    const made = authenticator.create(options, { origin: ORIGIN });
    await other.add({ origin: ORIGIN, binding: BROWSER, name: "laptop" }, made, LOCAL);
    for (const [begun, ended] of [
      [passkeys, other],
      [other, passkeys],
    ] as const) {
      time += 2 * 60_000;
      // As an authenticator that does not count.
      authenticator.counter = -1;
      const answer = authenticator.get(await begun.beginSignIn(ORIGIN, BROWSER), { origin: ORIGIN });
      const outcomes = await Promise.allSettled(
        [ended, begun, ended, begun].map((each) => each.signIn(ORIGIN, BROWSER, answer)),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });

  it("is offered where it was made, and nowhere else", async () => {
    await added();
    expect(await passkeys.areOffered("plimsoll.example")).toBe(true);
    expect(await passkeys.areOffered("localhost")).toBe(false);
  });

  it("ends when it is removed, and with its owner", async () => {
    const [first, second] = [await added(), await added(await person("Bo"))];
    await expect(passkeys.remove(ada, second.id, LOCAL)).rejects.toMatchObject({ code: "not_found" });
    await passkeys.remove(ada, first.id, LOCAL);
    await database.prisma.person.deleteMany({ where: { name: "Bo" } });
    for (const gone of [first, second]) {
      const answer = gone.get(await passkeys.beginSignIn(ORIGIN, BROWSER), { origin: ORIGIN });
      await expect(passkeys.signIn(ORIGIN, BROWSER, answer)).rejects.toMatchObject({
        code: "unauthenticated",
      });
    }
  });

  it("is for people who were invited, not for those of an identity provider", async () => {
    const other = await person("Ola", "https://login.example");
    await expect(passkeys.begin(other, ORIGIN, BROWSER)).rejects.toMatchObject({ code: "conflict" });
  });

  it.each(["http://127.0.0.1:4180", "http://[::1]:4180"])(
    "is not made for an address without a name, such as %s",
    async (origin) => {
      await expect(passkeys.begin(ada, origin, BROWSER)).rejects.toMatchObject({ code: "bad_request" });
    },
  );

  it("is one of twenty at most", async () => {
    for (let count = 0; count < 20; count += 1) await added();
    await expect(passkeys.begin(ada, ORIGIN, BROWSER)).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("adding a passkey is refused", () => {
  const at = { origin: ORIGIN, binding: BROWSER, name: "laptop" };
  const begin = () => passkeys.begin(ada, ORIGIN, BROWSER);
  const refused = (adding: Promise<unknown>) =>
    expect(adding).rejects.toMatchObject({ code: "unauthenticated" });

  it("if the page was of another site", async () => {
    const made = new TestAuthenticator().create(await begin(), { origin: "https://evil.example" });
    await refused(passkeys.add(at, made, LOCAL));
  });

  it("if it was made for another site", async () => {
    const made = new TestAuthenticator().create(await begin(), { origin: ORIGIN, site: "evil.example" });
    await refused(passkeys.add(at, made, LOCAL));
  });

  it("if nobody gave a fingerprint or PIN", async () => {
    const made = new TestAuthenticator().create(await begin(), { origin: ORIGIN, verified: false });
    await refused(passkeys.add(at, made, LOCAL));
  });

  it("in another browser, a second time, and after ten minutes", async () => {
    const made = async () => new TestAuthenticator().create(await begin(), { origin: ORIGIN });
    await refused(passkeys.add({ ...at, binding: "another" }, await made(), LOCAL));
    const twice = await made();
    await passkeys.add(at, twice, LOCAL);
    await refused(passkeys.add(at, twice, LOCAL));
    const late = await made();
    time += 10 * 60_000;
    await refused(passkeys.add(at, late, LOCAL));
  });

  it("if somebody else has it", async () => {
    const taken = await added(await person("Bo"));
    await refused(passkeys.add(at, taken.create(await begin(), { origin: ORIGIN }), LOCAL));
  });

  it("if it is none", async () => {
    const made = new TestAuthenticator().create(await begin(), { origin: ORIGIN });
    for (const clientDataJSON of ["", "e30", "bnVsbA", "!"])
      await refused(passkeys.add(at, { ...made, response: { ...made.response, clientDataJSON } }, LOCAL));
  });
});

describe("signing in is refused", () => {
  let authenticator: TestAuthenticator;
  beforeEach(async () => {
    authenticator = await added();
  });
  const begin = () => passkeys.beginSignIn(ORIGIN, BROWSER);
  const refused = (signing: Promise<unknown>) =>
    expect(signing).rejects.toMatchObject({ code: "unauthenticated" });

  it("from the page of another site, and for another site", async () => {
    const origin = "https://evil.example";
    await refused(passkeys.signIn(ORIGIN, BROWSER, authenticator.get(await begin(), { origin })));
    const site = "evil.example";
    const answer = authenticator.get(await begin(), { origin: ORIGIN, site });
    await refused(passkeys.signIn(ORIGIN, BROWSER, answer));
  });

  it("with the passkey of another site, though this page asks for it", async () => {
    const origin = "https://other.example";
    const options = await passkeys.beginSignIn(origin, BROWSER);
    const answer = authenticator.get(options, { origin, site: "other.example" });
    await refused(passkeys.signIn(origin, BROWSER, answer));
  });

  it("without a fingerprint or PIN", async () => {
    const answer = authenticator.get(await begin(), { origin: ORIGIN, verified: false });
    await refused(passkeys.signIn(ORIGIN, BROWSER, answer));
  });

  it("in another browser, a second time, and after ten minutes", async () => {
    const answer = async () => authenticator.get(await begin(), { origin: ORIGIN });
    await refused(passkeys.signIn(ORIGIN, "another", await answer()));
    await refused(passkeys.signIn(ORIGIN, undefined, await answer()));
    const twice = await answer();
    await passkeys.signIn(ORIGIN, BROWSER, twice);
    await refused(passkeys.signIn(ORIGIN, BROWSER, twice));
    const late = await answer();
    time += 10 * 60_000;
    await refused(passkeys.signIn(ORIGIN, BROWSER, late));
  });

  it("with a challenge of the browser's own, or one for adding a passkey", async () => {
    const own = authenticator.get(await begin(), { origin: ORIGIN, challenge: "b3du" });
    await refused(passkeys.signIn(ORIGIN, BROWSER, own));
    const { challenge } = await passkeys.begin(ada, ORIGIN, BROWSER);
    const other = authenticator.get(await begin(), { origin: ORIGIN, challenge });
    await refused(passkeys.signIn(ORIGIN, BROWSER, other));
  });

  it("with the signature of another passkey", async () => {
    const answer = new TestAuthenticator().get(await begin(), { origin: ORIGIN });
    await refused(passkeys.signIn(ORIGIN, BROWSER, { ...answer, id: authenticator.id }));
  });

  it("with a copy of an authenticator that counts, once the original was used", async () => {
    const use = async () => {
      const answer = authenticator.get(await begin(), { origin: ORIGIN });
      return passkeys.signIn(ORIGIN, BROWSER, answer);
    };
    await use();
    authenticator.counter = 0;
    await refused(use());
  });
});
