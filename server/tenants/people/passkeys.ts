import type { PasskeyView } from "@plimsoll/protocol/api";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Passkey } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import { createPendingSignIns, type SignInSafety } from "./pending-sign-ins.ts";
import { INVITED } from "./people.ts";

/** Of one person. */
const MOST = 20;

interface PasskeysOptions {
  prisma: PrismaClient;
  safety: SignInSafety;
  now?: () => number;
}

export type Passkeys = ReturnType<typeof createPasskeys>;

/** Loaded with the first use: most servers never need it. */
const webauthn = () => import("@simplewebauthn/server");

/**
 * The passkeys of people who were invited. Browsers offer a passkey only at the host name for which it was made, and only over
 * HTTPS or at `localhost`.
 */
export function createPasskeys({ prisma, safety, now = Date.now }: PasskeysOptions) {
  const adding = createPendingSignIns<{ personId: string }>("new passkey", safety, now);
  const signingIn = createPendingSignIns<object>("sign-in with a passkey", safety, now);

  return {
    /** The oldest first. */
    async list(personId: string): Promise<PasskeyView[]> {
      const rows = await prisma.passkey.findMany({
        where: { personId },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(viewOf);
    },

    /**
     * What a browser needs to make a passkey.
     * @param origin of the page that asks
     * @param binding a secret of the browser, or the id of its session
     * @throws PlimsollError `conflict` for a person of the identity provider, or if there are too many; `bad_request` for an
     * address without a host name
     */
    async begin(
      personId: string,
      origin: string,
      binding: string,
    ): Promise<PublicKeyCredentialCreationOptionsJSON> {
      const person = await prisma.person.findUnique({ where: { id: personId }, include: { passkeys: true } });
      if (person?.issuer !== INVITED)
        throw new PlimsollError(
          "conflict",
          "You sign in with the identity provider, which may offer passkeys.",
        );
      if (person.passkeys.length >= MOST)
        throw new PlimsollError("conflict", `You have ${MOST} passkeys. Remove one first.`);
      const { generateRegistrationOptions } = await webauthn();
      return generateRegistrationOptions({
        challenge: bytesOf(adding.seal(binding, { personId })),
        rpName: "Plimsoll",
        rpID: siteOf(origin),
        userID: new TextEncoder().encode(personId),
        userName: person.name,
        userDisplayName: person.name,
        excludeCredentials: person.passkeys.map(({ id }) => ({ id })),
        // Found without a name, and proven by a fingerprint or PIN: nothing else is asked for.
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
    },

    /**
     * Keeps a passkey that a browser made.
     * @throws PlimsollError `unauthenticated` if it was made elsewhere, for somebody else or too late
     */
    async add(
      { origin, binding, name }: { origin: string; binding: string; name: string },
      response: RegistrationResponseJSON,
      actor: Actor,
    ): Promise<PasskeyView> {
      const { verifyRegistrationResponse } = await webauthn();
      const challenge = challengeOf(response);
      const { personId } = await adding.take(challenge, binding);
      const { registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge ?? "",
        expectedOrigin: origin,
        expectedRPID: siteOf(origin),
        requireUserVerification: true,
      }).catch(refused);
      if (registrationInfo === undefined) throw refused();
      const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
      const row = await prisma.$transaction(async (tx) => {
        if ((await tx.passkey.findUnique({ where: { id } })) !== null) throw refused();
        await addEntry(tx, now(), { actor, action: "passkey_added", target: name });
        return tx.passkey.create({
          data: {
            id,
            personId,
            name,
            site: siteOf(origin),
            publicKey: new Uint8Array(publicKey),
            counter,
            transports,
            createdAt: new Date(now()),
          },
        });
      });
      return viewOf(row);
    },

    /** @throws PlimsollError `not_found` */
    async remove(personId: string, id: string, actor: Actor): Promise<void> {
      await prisma.$transaction(async (tx) => {
        const [row] = await tx.passkey.findMany({ where: { id, personId } });
        if (row === undefined) throw new PlimsollError("not_found", "There is no such passkey.");
        await tx.passkey.delete({ where: { id } });
        await addEntry(tx, now(), { actor, action: "passkey_removed", target: row.name });
      });
    },

    /** Whether anybody has a passkey for the page that asks. */
    async areOffered(site: string): Promise<boolean> {
      return (await prisma.passkey.findFirst({ where: { site }, select: { id: true } })) !== null;
    },

    /** What a browser needs to sign somebody in. It says nothing about who has passkeys. */
    async beginSignIn(origin: string, binding: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
      const { generateAuthenticationOptions } = await webauthn();
      return generateAuthenticationOptions({
        challenge: bytesOf(signingIn.seal(binding, {})),
        rpID: siteOf(origin),
        userVerification: "required",
      });
    },

    /**
     * @returns whose passkey answered
     * @throws PlimsollError `unauthenticated`
     */
    async signIn(
      origin: string,
      binding: string | undefined,
      response: AuthenticationResponseJSON,
    ): Promise<{ id: string; name: string }> {
      const { verifyAuthenticationResponse } = await webauthn();
      const challenge = challengeOf(response);
      await signingIn.take(challenge, binding);
      const row = await prisma.passkey.findUnique({ where: { id: response.id }, include: { person: true } });
      if (row === null) {
        throw new PlimsollError(
          "unauthenticated",
          "This passkey is not known here. It was removed, or its person was. Ask an administrator for a link.",
        );
      }
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge ?? "",
        expectedOrigin: origin,
        expectedRPID: row.site,
        credential: {
          id: row.id,
          publicKey: row.publicKey,
          counter: Number(row.counter),
          transports: row.transports,
        },
        requireUserVerification: true,
      }).catch(refused);
      if (!verified) throw refused();
      const at = new Date(now());
      const { id, name } = await prisma.person.update({
        where: { id: row.personId },
        data: {
          lastLoginAt: at,
          passkeys: {
            update: {
              where: { id: row.id },
              data: { counter: authenticationInfo.newCounter, lastUsedAt: at },
            },
          },
        },
      });
      return { id, name };
    },
  };
}

/** @param sealed in base64url, which the browser gets it as and brings it back as */
const bytesOf = (sealed: string) => new Uint8Array(Buffer.from(sealed, "base64url"));

/** The challenge that a browser says it answered. */
function challengeOf({
  response,
}: {
  response: Pick<RegistrationResponseJSON["response"], "clientDataJSON">;
}): string | null {
  try {
    const said: unknown = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString());
    const { challenge } = said as { challenge?: unknown };
    return typeof challenge === "string" ? challenge : null;
  } catch {
    return null;
  }
}

/** @throws PlimsollError `bad_request` for an address that is no name, which no browser makes passkeys for */
function siteOf(origin: string): string {
  const { hostname } = new URL(origin);
  if (!/^\[|^[\d.]+$/.test(hostname)) return hostname;
  throw new PlimsollError(
    "bad_request",
    `Browsers make no passkeys for the address ${hostname}. Open Plimsoll by a name, such as localhost.`,
  );
}

function refused(cause?: unknown): never {
  throw new PlimsollError("unauthenticated", "This passkey was refused. Try again.", { cause });
}

const viewOf = ({ id, name, site, createdAt, lastUsedAt }: Passkey): PasskeyView => ({
  id,
  name,
  site,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString() ?? null,
});
