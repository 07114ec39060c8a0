import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { isoCBOR } from "@simplewebauthn/server/helpers";

const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

interface Circumstances {
  /** Of the page. */
  origin: string;
  /** For which the passkey is made or asked; by default as the server says. */
  site?: string;
  /** Whether the person gave a fingerprint or PIN. */
  verified?: boolean;
  /** What the browser says that it answers; by default as the server says. */
  challenge?: string;
}

/** A browser with one passkey, without the checks of browsers, which a hostile one leaves out. */
export class TestAuthenticator {
  readonly id = randomBytes(16).toString("base64url");
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  /** Of uses. */
  counter = 0;

  create(
    options: PublicKeyCredentialCreationOptionsJSON,
    { origin, site = options.rp.id ?? "", verified = true, challenge = options.challenge }: Circumstances,
  ): RegistrationResponseJSON {
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const coordinate = (text: string) => new Uint8Array(Buffer.from(text, "base64url"));
    const publicKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, coordinate(x)],
        [-3, coordinate(y)],
      ]),
    );
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.from([0, id.length]);
    const data = Buffer.concat([
      this.#data(site, verified, WITH_CREDENTIAL),
      Buffer.alloc(16),
      length,
      id,
      publicKey,
    ]);
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", new Uint8Array(data)],
    ]);
    return {
      id: this.id,
      rawId: this.id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData("webauthn.create", challenge, origin),
        attestationObject: Buffer.from(
          isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]),
        ).toString("base64url"),
        transports: ["internal"],
      },
    };
  }

  get(
    options: PublicKeyCredentialRequestOptionsJSON,
    { origin, site = options.rpId ?? "", verified = true, challenge = options.challenge }: Circumstances,
  ): AuthenticationResponseJSON {
    this.counter += 1;
    const data = this.#data(site, verified);
    const clientDataJSON = clientData("webauthn.get", challenge, origin);
    const hash = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
    return {
      id: this.id,
      rawId: this.id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON,
        authenticatorData: data.toString("base64url"),
        signature: sign("sha256", Buffer.concat([data, hash]), this.#keys.privateKey).toString("base64url"),
      },
    };
  }

  #data(site: string, verified: boolean, more = 0): Buffer {
    const rest = Buffer.alloc(5);
    rest[0] = PRESENT | (verified ? VERIFIED : 0) | more;
    rest.writeUInt32BE(this.counter, 1);
    return Buffer.concat([createHash("sha256").update(site).digest(), rest]);
  }
}

const clientData = (type: string, challenge: string, origin: string) =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString("base64url");
