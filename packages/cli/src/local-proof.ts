import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { request } from "node:http";
import {
  clientProofText,
  LOCAL_PROOF_PATH,
  LOCAL_SCHEME,
  LocalProof,
  plainAddress,
  serverProofText,
} from "@plimsoll/protocol/api";

/** What a proven server is spoken to with. */
export interface ProvenServer {
  /** Its base URL with the address that was proven, so that a name cannot lead elsewhere later. */
  url: string;
  /** The value of the Authorization header. Of no use to any other server, nor to this one once it was restarted. */
  authorization: string;
}

/** Why a server is not the one that shares the local token: it is another program, or an older version of ours. */
export type ProofFailure = "not_proven" | "no_proof";

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4_096;

/**
 * Has the server at a loopback URL prove that it can read the local token. The token itself is never sent.
 * @throws the error of the connection if nothing answers
 */
export async function proveServer(url: string, token: string): Promise<ProvenServer | ProofFailure> {
  const challenge = randomBytes(32).toString("hex");
  const { status, body, address } = await get(`${url}${LOCAL_PROOF_PATH}?challenge=${challenge}`);
  const said = status === 200 ? LocalProof.safeParse(parseJson(body)).data : undefined;
  if (said === undefined) return "no_proof";
  const base = new URL(url);
  const port = Number(base.port || 80);
  const expected = mac(token, serverProofText({ challenge, instance: said.instance, address, port }));
  if (!timingSafeEqual(Buffer.from(said.proof, "hex"), Buffer.from(expected, "hex"))) return "not_proven";
  base.hostname = address.includes(":") ? `[${address}]` : address;
  return {
    url: base.href.replace(/\/+$/, ""),
    authorization: `${LOCAL_SCHEME} ${mac(token, clientProofText(said.instance))}`,
  };
}

const mac = (token: string, text: string) => createHmac("sha256", token).update(text).digest("hex");

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Unlike fetch, returns the address that a name resolved to. */
function get(url: string): Promise<{ status: number; body: string; address: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { signal: AbortSignal.timeout(TIMEOUT_MS), agent: false }, (incoming) => {
      const address = plainAddress(incoming.socket.remoteAddress ?? "");
      let body = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        body += chunk;
        if (body.length > MOST_BYTES) incoming.destroy(new Error("The answer is too long."));
      });
      incoming.on("error", reject);
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, body, address }));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
