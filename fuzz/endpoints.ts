import { AlertRule } from "@plimsoll/protocol/alerts";
import {
  LOCAL_PROOF_PATH,
  LocalProofQuery,
  MACHINE_LOGIN_PATHS,
  MachineLoginPoll,
  MachineLoginRequest,
  PasskeySignIn,
  PolicyQuery,
  SavePolicyInput,
  SelectedSessions,
} from "@plimsoll/protocol/api";
import { PlimsollEvent } from "@plimsoll/protocol/events";
import { PolicyBody } from "@plimsoll/protocol/policy";
import { z } from "zod";
import { appRouter } from "../server/trpc/router.ts";
import type { JsonSchema } from "./schema-values.ts";

/** Something that a client can ask for, with the schema of what it takes. */
export interface Endpoint {
  method: string;
  /** May contain names of members, such as `{id}`. */
  path: string;
  input: JsonSchema;
  /** How the input is sent. */
  sends: "parameters" | "json_body" | "trpc_input" | "archive" | "nothing";
  /** Without which the rest of the request is not looked at. */
  headers?: readonly (readonly [name: string, value: string])[];
  /** Of all endpoints together, how often this one is drawn. */
  weight: number;
}

interface Procedure {
  _def: {
    type: "query" | "mutation";
    meta?: { openapi?: { method: string; path: string } };
    inputs: z.ZodType[];
  };
}

const procedures = Object.entries(
  (appRouter as unknown as { _def: { procedures: Record<string, Procedure> } })._def.procedures,
);

/** Starting the demo runs a program that sends events of its own. */
const EXCLUDED = new Set(["demo.start"]);
const EXPENSIVE = new Set(["doctor"]);

const weightOf = (name: string, changes: boolean) => (EXPENSIVE.has(name) ? 1 : changes ? 3 : 300);

/** Members that a schema leaves to a function, which names every mistake. */
const CHECKED_LATER = { policy: PolicyBody, rule: AlertRule };

/** The schema of what a client sends. */
function schemaOf(input: z.ZodType): JsonSchema {
  const schema = toSchema(input);
  for (const [name, checked] of Object.entries(CHECKED_LATER))
    if (schema.properties?.[name] !== undefined) schema.properties[name] = toSchema(checked);
  return schema;
}

const toSchema = (input: z.ZodType) =>
  z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as JsonSchema;

/** What the YAML of an import of alert rules holds. */
export const ALERT_RULES: JsonSchema = {
  type: "object",
  properties: { rules: { type: "array", items: toSchema(AlertRule), minItems: 1 } },
  required: ["rules"],
};

function endpointsOf([name, { _def }]: [string, Procedure]): Endpoint[] {
  if (EXCLUDED.has(name)) return [];
  const input = schemaOf(_def.inputs[0] ?? z.object({}));
  const changes = _def.type === "mutation";
  const weight = weightOf(name, changes);
  const trpc: Endpoint = {
    method: changes ? "POST" : "GET",
    path: `/api/trpc/${name}`,
    input,
    sends: changes ? "json_body" : "trpc_input",
    weight,
  };
  const rest = _def.meta?.openapi;
  if (rest === undefined) return [trpc];
  const sends = ["POST", "PUT", "PATCH"].includes(rest.method) ? "json_body" : "parameters";
  return [trpc, { method: rest.method, path: rest.path, input, sends, weight }];
}

const inputOfProcedure = (name: string): JsonSchema =>
  schemaOf(procedures.find(([found]) => found === name)![1]._def.inputs[0]!);

/** A message of JSON-RPC to the tools of an agent. */
const McpMessage = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.enum([
    "tools/call",
    "tools/list",
    "initialize",
    "ping",
    "resources/read",
    "notifications/initialized",
  ]),
  params: z.object({
    name: z.enum(["headroom", "will_it_fit", "what_fills", "checkpoint"]),
    arguments: z.object({ detail: z.boolean(), tokens: z.number(), path: z.string() }).partial(),
    _meta: z.object({ threadId: z.string(), "claudecode/toolUseId": z.string() }).partial(),
    protocolVersion: z.enum(["2025-11-25", "2026-07-28"]),
  }),
});

const plain = (method: string, path: string, weight: number): Endpoint => ({
  method,
  path,
  input: { type: "object" },
  sends: "nothing",
  weight,
});

const sending = (method: string, path: string, weight: number, input: z.ZodType): Endpoint => ({
  ...{ method, path, weight, input: schemaOf(input) },
  sends: method === "GET" ? "parameters" : "json_body",
});

/** Every tRPC procedure, every REST route and every route beside them; new procedures are found by themselves. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...procedures.flatMap(endpointsOf),
  sending("POST", "/api/v1/events", 60, z.array(PlimsollEvent)),
  sending("POST", "/api/v1/sessions.csv", 60, SelectedSessions),
  sending("GET", "/api/v1/policy", 20, PolicyQuery),
  sending("GET", LOCAL_PROOF_PATH, 20, LocalProofQuery),
  ...["0", "1", "999999999"].map((generation) => ({
    ...sending("PUT", "/api/v1/policy", 10, SavePolicyInput),
    headers: [["If-Match", `"${generation}"`]] as const,
  })),
  {
    ...sending("POST", "/api/v1/mcp", 150, McpMessage),
    headers: [
      ["Accept", "application/json, text/event-stream"],
      ["Plimsoll-Session", "s1"],
    ],
  },
  plain("GET", "/api/v1/backup", 1),
  { ...plain("POST", "/api/v1/restore", 60), sends: "archive" },
  {
    method: "GET",
    path: "/api/v1/sessions.csv",
    input: inputOfProcedure("sessions.list"),
    sends: "parameters",
    weight: 150,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/{id}/turns.csv",
    input: inputOfProcedure("sessions.turns"),
    sends: "parameters",
    weight: 150,
  },
  ...["csv", "ndjson"].map((ending) => ({
    ...{ method: "GET", path: `/api/v1/audit.${ending}`, weight: 20 },
    input: inputOfProcedure("audit.list"),
    sends: "parameters" as const,
  })),
  {
    method: "POST",
    path: "/api/v1/login",
    input: {
      anyOf: ["token", "access_token"].map((secret) => ({
        type: "object",
        properties: { [secret]: { type: "string", maxLength: 300 } },
        required: [secret],
      })),
    },
    sends: "json_body",
    weight: 60,
  },
  plain("GET", "/api/v1/sign-in", 20),
  plain("GET", "/api/v1/sign-in/start", 5),
  plain("GET", "/api/v1/sign-in/callback", 5),
  plain("POST", "/api/v1/sign-in/passkey/start", 5),
  sending("POST", "/api/v1/sign-in/passkey", 20, PasskeySignIn),
  plain("POST", "/api/v1/logout", 20),
  sending("POST", MACHINE_LOGIN_PATHS.code, 20, MachineLoginRequest),
  sending("POST", MACHINE_LOGIN_PATHS.token, 20, MachineLoginPoll),
  plain("POST", MACHINE_LOGIN_PATHS.revoke, 20),
  plain("GET", "/api/v1/live", 60),
  plain("GET", "/openapi.json", 20),
  plain("GET", "/metrics", 30),
  plain("GET", "/healthz", 60),
  plain("GET", "/readyz", 60),
  plain("GET", "/", 20),
  plain("GET", "/login", 20),
  plain("GET", "/_next/image", 40),
];
