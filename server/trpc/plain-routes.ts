import {
  AGENT_HEADER,
  AuditQuery,
  LOCAL_PROOF_PATH,
  LocalProof,
  LoginAnswer,
  MACHINE_LOGIN_PATHS,
  MachineLoginAnswer,
  MachineLoginCodes,
  MachineLoginPoll,
  MachineLoginRequest,
  PasskeyOptions,
  PasskeySignIn,
  SESSION_HEADER,
  SelectedSessions,
  ServerHealth,
  SessionsQuery,
  SignInWays,
  TurnsQuery,
} from "@plimsoll/protocol/api";
import type { OpenAPIObject } from "trpc-to-openapi";
import { z } from "zod";

type Paths = NonNullable<OpenAPIObject["paths"]>;

/** How a caller says who it is. In the document's `securitySchemes`. */
const NOBODY: object[] = [];
const KEY = [{ key: [] }];
const SESSION = [{ session: [] }];

export const json = (schema: object) => ({ "application/json": { schema } });
export const errorOf = (errorSchema: object) => (description: string) => ({
  description,
  content: json(errorSchema),
});
const schemaOf = (schema: z.ZodType) =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Record<string, unknown>;
const answer = (description: string, schema: z.ZodType) => ({
  description,
  content: json(z.toJSONSchema(schema) as object),
});
const body = (schema: z.ZodType) => ({ required: true, content: json(schemaOf(schema)) });
const text = (description: string, type: string) => ({
  description,
  content: { [type]: { schema: { type: "string" } } },
});
const file = (description: string, type: string) => ({
  description,
  content: { [type]: { schema: { type: "string", format: "binary" } } },
});
const parameter = (
  name: string,
  place: "query" | "path" | "header",
  description: string,
  required = false,
) => ({
  ...{ name, in: place, description, required },
  schema: { type: "string" },
});
/** The members of an object as parameters of a query. */
function parametersOf(schema: z.ZodObject, left: readonly string[]): object[] {
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return Object.entries(properties)
    .filter(([name]) => !left.includes(name))
    .map(([name, member]) => ({ name, in: "query", required: required.includes(name), schema: member }));
}
const cookieHeader = { "Set-Cookie": { schema: { type: "string" } } };
const done = (name: string) => z.object({ [name]: z.literal(true) });

/** OpenAPI of the routes beside the procedures, apart from events, OTLP and the policy. */
export function plainPaths(errorSchema: object): Paths {
  const error = errorOf(errorSchema);
  return {
    ...signInPaths(error),
    ...machineLoginPaths(error),
    ...exportPaths(error),
    ...agentPaths(error),
    ...operationPaths(error),
  } as Paths;
}

type ErrorOf = ReturnType<typeof errorOf>;

function signInPaths(error: ErrorOf) {
  const page = (description: string) => text(`${description}; a page for the person`, "text/html");
  const foreign = error("Asked by a page of another origin");
  return {
    "/api/v1/login": {
      post: {
        operationId: "login",
        tags: ["people"],
        summary: "Exchanges the token of a login link, or the access token, for a session cookie",
        security: NOBODY,
        requestBody: {
          required: true,
          content: json({
            anyOf: ["token", "access_token"].map((name) => ({
              ...{ type: "object", required: [name], additionalProperties: false },
              properties: { [name]: { type: "string" } },
            })),
          }),
        },
        responses: {
          200: { ...answer("Signed in", LoginAnswer), headers: cookieHeader },
          400: error("The body has neither of the two"),
          401: error("The link was used or is too old, or the access token is wrong"),
          403: foreign,
          413: error("Too large"),
          429: error("Too many wrong attempts of this client; see Retry-After"),
        },
      },
    },
    "/api/v1/logout": {
      post: {
        operationId: "logout",
        tags: ["people"],
        summary: "Ends the session of the cookie",
        security: SESSION,
        responses: {
          200: { ...answer("Signed out, also without a session", done("ok")), headers: cookieHeader },
          403: foreign,
        },
      },
    },
    "/api/v1/sign-in": {
      get: {
        operationId: "sign-in-ways",
        tags: ["people"],
        summary: "How a person may sign in besides with a login link",
        security: NOBODY,
        responses: { 200: answer("The ways", SignInWays) },
      },
    },
    "/api/v1/sign-in/passkey/start": {
      post: {
        operationId: "passkey-start",
        tags: ["people"],
        summary: "What a browser needs to ask for a passkey",
        security: NOBODY,
        responses: {
          200: {
            ...answer("The options of `navigator.credentials.get`", PasskeyOptions),
            headers: cookieHeader,
          },
          400: error("Asked by an address that is no name, at which browsers have no passkeys"),
          403: foreign,
        },
      },
    },
    "/api/v1/sign-in/passkey": {
      post: {
        operationId: "passkey-sign-in",
        tags: ["people"],
        summary: "Exchanges the answer of a passkey for a session cookie",
        security: NOBODY,
        requestBody: body(PasskeySignIn),
        responses: {
          200: { ...answer("Signed in", LoginAnswer), headers: cookieHeader },
          400: error("The body is not the answer of a passkey"),
          401: error("The passkey is not known, or was refused"),
          403: foreign,
          413: error("Too large"),
        },
      },
    },
    "/api/v1/sign-in/start": {
      get: {
        operationId: "sign-in-start",
        tags: ["people"],
        summary: "Sends a browser to the identity provider",
        security: NOBODY,
        parameters: [parameter("next", "query", "The path of this server to open afterwards.")],
        responses: {
          302: {
            description: "To the identity provider",
            headers: { Location: { schema: { type: "string" } }, ...cookieHeader },
          },
          404: page("No identity provider is set up"),
          500: page("The settings of the identity provider are wrong"),
          503: page("The identity provider does not answer"),
        },
      },
    },
    "/api/v1/sign-in/callback": {
      get: {
        operationId: "sign-in-callback",
        tags: ["people"],
        summary: "Where the identity provider sends the browser back to",
        security: NOBODY,
        parameters: [
          parameter("state", "query", "Of the sign-in that this browser began."),
          parameter("code", "query", "From the identity provider."),
          parameter("error", "query", "From the identity provider, instead of a code."),
        ],
        responses: {
          200: {
            ...page("Signed in"),
            headers: { Refresh: { schema: { type: "string" } }, ...cookieHeader },
          },
          401: page("The sign-in was used, is too old, began in another browser, or the provider refused it"),
          403: page("The person is in no group that may use Plimsoll"),
          404: page("No identity provider is set up"),
          500: page("The settings of the identity provider are wrong"),
          503: page("The identity provider does not answer"),
        },
      },
    },
  };
}

function machineLoginPaths(error: ErrorOf) {
  const bad = { 400: error("The body cannot be read"), 413: error("Too large") };
  return {
    [MACHINE_LOGIN_PATHS.code]: {
      post: {
        operationId: "device-code",
        tags: ["machines"],
        summary: "Asks for a code with which a person can confirm this machine",
        security: NOBODY,
        requestBody: body(MachineLoginRequest),
        responses: {
          200: answer("Both codes", MachineLoginCodes),
          ...bad,
          429: error("Too many machines of this client wait; see Retry-After"),
        },
      },
    },
    [MACHINE_LOGIN_PATHS.token]: {
      post: {
        operationId: "device-token",
        tags: ["machines"],
        summary: "Asks whether a person has confirmed this machine; once confirmed, answers with its keys",
        security: NOBODY,
        requestBody: body(MachineLoginPoll),
        responses: { 200: answer("What the person decided so far", MachineLoginAnswer), ...bad },
      },
    },
    [MACHINE_LOGIN_PATHS.revoke]: {
      post: {
        operationId: "device-revoke",
        tags: ["machines"],
        summary: "Revokes the key that asks",
        security: KEY,
        responses: {
          200: answer("Revoked", done("revoked")),
          401: error("No key, or a wrong one"),
          413: error("Too large"),
        },
      },
    },
    [LOCAL_PROOF_PATH]: {
      get: {
        operationId: "local-proof",
        tags: ["machines"],
        summary: "Proves to the command line on this machine that the server has its local token",
        security: NOBODY,
        parameters: [parameter("challenge", "query", "64 random hex digits.", true)],
        responses: { 200: answer("The proof", LocalProof), 400: error("The challenge is not 64 hex digits") },
      },
    },
  };
}

function exportPaths(error: ErrorOf) {
  const refused = { 401: error("No key, or a wrong one"), 403: error("The key lacks the scope read") };
  const csv = text("All rows that match, as CSV", "text/csv");
  const bad = error("A parameter is wrong");
  return {
    "/api/v1/sessions.csv": {
      get: {
        operationId: "sessions-csv",
        tags: ["sessions"],
        summary: "Sessions of a range as CSV",
        security: KEY,
        parameters: parametersOf(SessionsQuery, ["cursor", "limit"]),
        responses: { 200: csv, 400: bad, ...refused },
      },
      post: {
        operationId: "sessions-csv-selected",
        tags: ["sessions"],
        summary: "Sessions by their ids as CSV",
        security: KEY,
        requestBody: body(SelectedSessions),
        responses: { 200: csv, 400: bad, ...refused, 413: error("Too large") },
      },
    },
    ...Object.fromEntries(
      ["csv", "ndjson"].map((ending) => [
        `/api/v1/audit.${ending}`,
        {
          get: {
            operationId: `audit-${ending}`,
            tags: ["audit"],
            summary: "All entries of the audit log that match, newest first",
            security: [...KEY, ...SESSION],
            parameters: parametersOf(AuditQuery, ["cursor", "limit"]),
            responses: {
              200: text("The entries", ending === "csv" ? "text/csv" : "application/x-ndjson"),
              400: bad,
              401: refused[401],
              403: error("The key lacks the scope admin"),
            },
          },
        },
      ]),
    ),
    "/api/v1/sessions/{id}/turns.csv": {
      get: {
        operationId: "turns-csv",
        tags: ["sessions"],
        summary: "All turns of a session as CSV",
        security: KEY,
        parameters: [
          parameter("id", "path", "The session.", true),
          ...parametersOf(TurnsQuery, ["id", "turn", "cursor", "limit"]),
        ],
        responses: { 200: csv, 400: bad, ...refused, 404: error("There is no such session") },
      },
    },
  };
}

function agentPaths(error: ErrorOf) {
  return {
    "/api/v1/mcp": {
      post: {
        operationId: "mcp",
        tags: ["agents"],
        summary:
          "Tools with which an agent asks how full its own window is (Model Context Protocol, Streamable HTTP)",
        security: KEY,
        parameters: [
          parameter(SESSION_HEADER, "header", "The agent's session, URI-encoded."),
          parameter(AGENT_HEADER, "header", "The agent, where its session has several; URI-encoded."),
        ],
        requestBody: { required: true, content: json({ type: "object" }) },
        responses: {
          200: { description: "A message of JSON-RPC", content: json({ type: "object" }) },
          202: { description: "A notification, which has no answer" },
          400: error("The body is not one message"),
          401: error("No key, or a wrong one"),
          403: error("The key lacks the scope self, or a page of another origin asks"),
          413: error("Too large"),
          429: error("Over the key's quota; see Retry-After"),
        },
      },
    },
  };
}

function operationPaths(error: ErrorOf) {
  const person = { 401: error("Not signed in"), 403: error("Not an admin of every project, or a key") };
  const archive = "application/octet-stream";
  return {
    "/api/v1/backup": {
      get: {
        operationId: "backup",
        tags: ["operations"],
        summary: "Everything of all projects in one file; for people alone",
        security: SESSION,
        responses: {
          200: file("The backup; one that breaks off is cut", archive),
          ...person,
          409: error("Another backup is being written"),
        },
      },
    },
    "/api/v1/restore": {
      post: {
        operationId: "restore",
        tags: ["operations"],
        summary: "Restores a backup into an empty database; for people alone",
        security: SESSION,
        requestBody: {
          required: true,
          content: { [archive]: { schema: { type: "string", format: "binary" } } },
        },
        responses: {
          200: { description: "What was restored", content: json({ type: "object" }) },
          400: error("The backup is damaged or not whole"),
          ...person,
          409: error("The database is not empty, or the backup is of another version"),
        },
      },
    },
    "/api/v1/live": {
      get: {
        operationId: "live",
        tags: ["metrics"],
        summary: "Server-sent events that say what changed, and that there is a new policy",
        security: KEY,
        parameters: [parameter("only", "query", "`policy`: nothing but policies.")],
        responses: {
          200: text("The stream, until the client leaves", "text/event-stream"),
          401: error("No key, or a wrong one"),
          403: error("The key lacks the scopes read and policy:read"),
          429: error("Too many streams of this key; see Retry-After"),
          503: error("Too many clients, or the database does not answer"),
        },
      },
    },
    "/healthz": {
      get: {
        operationId: "health",
        tags: ["operations"],
        summary: "Whether the process runs, and the database answers",
        security: NOBODY,
        responses: { 200: answer("It runs", ServerHealth) },
      },
    },
    "/readyz": {
      get: {
        operationId: "readiness",
        tags: ["operations"],
        summary: "Whether the server takes events",
        security: NOBODY,
        responses: {
          200: answer(
            "It does; `degraded` names what else is wrong",
            z.object({
              status: z.enum(["ready", "degraded"]),
              reasons: z.array(z.string()).optional(),
              full_projects: z.array(z.number()).optional(),
            }),
          ),
          503: error("It does not; `details.reasons` says why"),
        },
      },
    },
    "/metrics": {
      get: {
        operationId: "prometheus",
        tags: ["operations"],
        summary: "Metrics of the process and the project for Prometheus",
        security: KEY,
        responses: {
          200: text("The text format of Prometheus", "text/plain"),
          401: error("No key, or a wrong one"),
          403: error("The key lacks the scope read"),
        },
      },
    },
  };
}
