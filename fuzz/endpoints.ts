import { z } from "zod";
import { appRouter } from "../server/trpc/router.ts";
import type { JsonSchema } from "./schema-values.ts";

/** Something that a client can ask for, with the schema of what it takes. */
export interface Endpoint {
  method: string;
  /** May contain `{id}`. */
  path: string;
  input: JsonSchema;
  /** How the input is sent. */
  sends: "parameters" | "json_body" | "trpc_input" | "nothing";
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

function endpointsOf([name, { _def }]: [string, Procedure]): Endpoint[] {
  if (EXCLUDED.has(name)) return [];
  const input = z.toJSONSchema(_def.inputs[0] ?? z.object({}), {
    io: "input",
    unrepresentable: "any",
  }) as JsonSchema;
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
  const sends = rest.method === "POST" || rest.method === "PATCH" ? "json_body" : "parameters";
  return [trpc, { method: rest.method, path: rest.path, input, sends, weight }];
}

const inputOfProcedure = (name: string): JsonSchema => {
  const [, procedure] = procedures.find(([found]) => found === name)!;
  return z.toJSONSchema(procedure._def.inputs[0]!, { io: "input", unrepresentable: "any" }) as JsonSchema;
};

const plain = (method: string, path: string, weight: number): Endpoint => ({
  method,
  path,
  input: { type: "object" },
  sends: "nothing",
  weight,
});

/** Every tRPC procedure, every REST route and every route beside them; new procedures are found by themselves. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...procedures.flatMap(endpointsOf),
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
  {
    method: "POST",
    path: "/api/v1/login",
    input: { type: "object", properties: { token: { type: "string", maxLength: 300 } }, required: ["token"] },
    sends: "json_body",
    weight: 60,
  },
  plain("POST", "/api/v1/logout", 20),
  plain("GET", "/api/v1/live", 60),
  plain("GET", "/api/v1/policy", 20),
  plain("GET", "/openapi.json", 20),
  plain("GET", "/metrics", 30),
  plain("GET", "/healthz", 60),
  plain("GET", "/readyz", 60),
  plain("GET", "/", 20),
  plain("GET", "/login", 20),
  plain("GET", "/_next/image", 40),
  plain("POST", "/otlp/v1/traces", 20),
];
