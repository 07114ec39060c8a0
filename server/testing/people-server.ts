import type { PersonList, Role } from "@plimsoll/protocol/api";
import type { z } from "zod";
import type { Certificate } from "../../packages/guard/src/testing/certificate.ts";
import { ask, type NetworkServer, networkAddress, startNetworkServer } from "./network.ts";
import { startTestServer, type TestServer } from "./server.ts";
import { freePort, startTestProvider, type TestAccount, type TestProvider } from "./test-provider.ts";

/** A server, and the people of its identity provider. */
export interface PeopleServer extends TestServer, Pick<NetworkServer, "publicUrl" | "ask"> {
  /** Over the network. */
  certificate?: Certificate;
  provider: TestProvider;
  /**
   * Signs in as a person with a browser does.
   * @returns the cookie of the session, as a browser sends it
   */
  signIn(login: string): Promise<string>;
  /** The id of a person who has signed in, by name. */
  personId(name: string): Promise<string>;
  /** @param projectId null: in every project */
  give(name: string, projectId: number | null, role: Role | null): Promise<void>;
}

interface PeopleServerOptions {
  /** By login; nobody has a role at first. */
  accounts: Record<string, TestAccount>;
  /** Whether people reach it over the network address of this machine, with TLS. */
  over: "network" | "loopback";
  env?: Record<string, string>;
}

export async function startPeopleServer(options: PeopleServerOptions): Promise<PeopleServer> {
  const { accounts, over } = options;
  const port = await freePort();
  const origin = over === "network" ? `https://${networkAddress}:${port}` : `http://127.0.0.1:${port}`;
  const redirectUris = [`${origin}/api/v1/sign-in/callback`];
  const provider = await startTestProvider({ accounts, redirectUris });
  const env = { ...options.env, ...provider.env, PORT: String(port) };
  const server = over === "network" ? await startNetworkServer(env) : await onLoopback(env);
  const people = {
    async signIn(login: string): Promise<string> {
      const started = await server.ask("/api/v1/sign-in/start");
      const binding = cookieIn(started.headers["set-cookie"], "plimsoll_sign_in")!;
      const back = await provider.signIn(started.headers.location!, login);
      const answer = await server.ask(back.pathname + back.search, { headers: { cookie: binding } });
      const session = cookieIn(answer.headers["set-cookie"], "plimsoll_session");
      if (session === undefined) throw new Error(`The server answered ${answer.status}: ${answer.text}`);
      return session;
    },
    async personId(name: string): Promise<string> {
      const { people } = await server.trpc<z.infer<typeof PersonList>>("people.list", {});
      return people.find((person) => person.name === name)!.id;
    },
    async give(name: string, projectId: number | null, role: Role | null): Promise<void> {
      const id = await people.personId(name);
      await server.mutate("people.setRole", { id, project_id: projectId, role });
    },
  };
  return {
    ...server,
    ...people,
    provider,
    async stop(signal) {
      const code = await server.stop(signal);
      await provider.stop();
      return code;
    },
  };
}

async function onLoopback(env: Record<string, string>) {
  const server = await startTestServer({ env });
  const to = { address: "127.0.0.1", port: server.port, ca: "" };
  const plainly: NetworkServer["ask"] = (path, sending) => ask(to, path, { ...sending, plain: true });
  return { ...server, publicUrl: server.url, ask: plainly };
}

/** The first cookie whose name begins so, as a browser sends it back. */
export const cookieIn = (setCookie: readonly string[] | undefined, name: string): string | undefined =>
  setCookie?.find((one) => one.startsWith(name))?.split(";", 1)[0];
