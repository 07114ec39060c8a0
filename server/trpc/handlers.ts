import {
  ErrorBody,
  GENERATION_HEADER,
  PolicyAnswer,
  SavePolicyInput,
  TELEMETRY_SIGNALS,
  WholePolicy,
} from "@plimsoll/protocol/api";
import { IngestAnswer, PlimsollEvent } from "@plimsoll/protocol/events";
import type { TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { createOpenApiFetchHandler, generateOpenApiDocument, type OpenAPIObject } from "trpc-to-openapi";
import { z } from "zod";
import { PlimsollError, retryAfterSeconds } from "../errors.ts";
import type { Principal } from "../tenants/access/principal.ts";
import type { Context, Services } from "./context.ts";
import { plimsollError } from "./init.ts";
import { errorOf, json, plainPaths } from "./plain-routes.ts";
import { appRouter } from "./router.ts";

/** Who sends a request; asked once, by the procedures that need to know. */
interface Caller {
  authenticate(): Promise<Principal | undefined>;
}

export interface Handlers {
  trpc: (request: Request, caller: Caller) => Promise<Response>;
  rest: (request: Request, caller: Caller) => Promise<Response>;
}

export interface HandlerOptions {
  services: Services;
  /** Told of errors that are ours, not the caller's. */
  onError: (error: TRPCError, path: string | undefined) => void;
  /** Writes an error in the one shape. */
  errorResponse: (error: PlimsollError) => Response;
}

/** Calls in one batch of tRPC. The dashboard sends 10. */
const MOST_CALLS = 30;

/** tRPC for the dashboard and the command line, and the same procedures as a REST API. */
export function createHandlers({ services, onError, errorResponse }: HandlerOptions): Handlers {
  const contextOf = (caller: Caller, response: Context["response"]): Context => {
    // Awaited by the procedures, inside tRPC, so that a refusal gets the shape and status of any other error.
    const principal = caller.authenticate();
    principal.catch(() => {});
    return { principal, services, response };
  };
  let document: { url: string; text: string } | undefined;
  const documentText = () => {
    const url = services.publicUrl();
    if (document?.url !== url)
      document = { url, text: JSON.stringify(openApiDocument(services.version, url)) };
    return document.text;
  };

  return {
    async trpc(req, caller) {
      const said = {};
      const response = await fetchRequestHandler({
        endpoint: "/api/trpc",
        req,
        router: appRouter,
        maxBatchSize: MOST_CALLS,
        createContext: () => contextOf(caller, said),
        onError: ({ error, path }) => onError(error, path),
        responseMeta: ({ errors }) => ({ headers: retryHeader(errors) }),
      });
      return withLag(response, said);
    },

    async rest(req, caller) {
      const { pathname, searchParams } = new URL(req.url);
      if (pathname === "/openapi.json") {
        return new Response(documentText(), {
          headers: { "Content-Type": "application/json; charset=utf-8" },
        });
      }
      // The adapter collects parameters in an object, and takes what every object has for a list of values.
      const inherited = [...searchParams.keys()].find((name) => name in Object.prototype);
      if (inherited !== undefined)
        return errorResponse(new PlimsollError("bad_request", `There is no parameter ${inherited}.`));
      let failed: TRPCError | undefined;
      const said = {};
      const response = await createOpenApiFetchHandler({
        endpoint: "/",
        req,
        router: appRouter,
        createContext: () => contextOf(caller, said),
        onError: ({ error, path }) => {
          failed = error;
          onError(error, path);
        },
      });
      if (failed !== undefined) return errorResponse(plimsollError(failed));
      if (response.status === 404) {
        return errorResponse(
          new PlimsollError("not_found", `There is nothing at ${req.method} ${pathname}.`),
        );
      }
      return withLag(response, said);
    },
  };
}

/** The longest time that a call of the batch has to wait. */
function retryHeader(errors: readonly TRPCError[]): Record<string, string> {
  const refused = errors.map(plimsollError).filter(({ status }) => status === 429 || status === 503);
  return refused.length === 0 ? {} : { "Retry-After": String(Math.max(...refused.map(retryAfterSeconds))) };
}

/** Says in a header that an answer lacks events which are acknowledged but not projected yet. */
function withLag(response: Response, { behind }: Context["response"]): Response {
  if (behind === undefined) return response;
  response.headers.set("Plimsoll-Behind", `events=${behind.events}, ms=${Math.round(behind.ms)}`);
  return response;
}

/** OpenAPI 3.1 of everything a machine may call, from the very schemas that check it. */
export function openApiDocument(version: string, baseUrl: string): OpenAPIObject {
  const document = generateOpenApiDocument(appRouter, {
    title: "Plimsoll",
    description: "How full every agent's context window is, why it fell, and what is about to overflow.",
    version,
    openApiVersion: "3.1.0",
    baseUrl,
    tags: [
      ...["events", "metrics", "sessions", "alerts", "policies", "mappings", "projects", "audit"],
      ...["people", "machines", "operations"],
    ],
    securitySchemes: {
      key: {
        type: "http",
        scheme: "bearer",
        description: "A key made in Setup or with `npx plimsoll key create`.",
      },
      session: {
        type: "apiKey",
        in: "cookie",
        name: "plimsoll_session",
        description:
          "The session of a browser. With a port in the address, the name ends with _ and the port.",
      },
    },
  });
  const errorSchema = z.toJSONSchema(ErrorBody) as Record<string, unknown>;
  const schemas = document.components?.schemas ?? {};
  for (const name of Object.keys(schemas)) if (name.startsWith("error.")) schemas[name] = errorSchema;
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path as Record<string, { security?: unknown }>)) {
      operation.security = [{ key: [] }];
    }
  }
  document.paths = {
    ...eventsPath(errorSchema),
    ...otlpPaths(),
    ...policyPath(errorSchema),
    ...plainPaths(errorSchema),
    ...document.paths,
  };
  return document;
}

function policyPath(errorSchema: object): NonNullable<OpenAPIObject["paths"]> {
  const error = errorOf(errorSchema);
  const parameter = (name: string, place: "query" | "header", description: string, required = false) => ({
    name,
    in: place,
    description,
    required,
    schema: { type: "string" },
  });
  const refused = { 401: error("No key, or a wrong one"), 403: error("The key lacks the scope") };
  const schemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return {
    "/api/v1/policy": {
      get: {
        operationId: "policy-get",
        tags: ["policies"],
        summary: "The policy that a harness should run; without `harness`, the project's whole policy",
        security: [{ key: [] }],
        parameters: [
          parameter("harness", "query", "The harness instance, such as `phantom@vm-3`."),
          parameter("model", "query", "Without a model, layers for models do not apply."),
          parameter("If-None-Match", "header", "The ETag of the last answer."),
        ],
        responses: {
          200: {
            description: "The policy; its ETag is its hash, and a header names the newest generation",
            headers: {
              ETag: { schema: { type: "string" } },
              [GENERATION_HEADER]: { schema: { type: "integer" } },
            },
            content: json({ anyOf: [schemaOf(PolicyAnswer), schemaOf(WholePolicy)] }),
          },
          304: { description: "Not changed" },
          ...refused,
        },
      },
      put: {
        operationId: "policy-save",
        tags: ["policies"],
        summary: "Saves a new version of the project's policy",
        security: [{ key: [] }],
        parameters: [
          parameter(
            "If-Match",
            "header",
            'The generation that was changed, such as `"7"`; 0 if there was none.',
            true,
          ),
        ],
        requestBody: { required: true, content: json(schemaOf(SavePolicyInput)) },
        responses: {
          200: { description: "Saved", content: json(schemaOf(WholePolicy)) },
          400: error("The policy has mistakes; `details.mistakes` names each field and the fix"),
          ...refused,
          412: error("Somebody else saved a version meanwhile; `details` has both"),
        },
      },
    },
  } as NonNullable<OpenAPIObject["paths"]>;
}

function eventsPath(errorSchema: object): NonNullable<OpenAPIObject["paths"]> {
  const event = z.toJSONSchema(PlimsollEvent, { io: "input", unrepresentable: "any" });
  const error = errorOf(errorSchema);
  return {
    "/api/v1/events": {
      post: {
        operationId: "events-send",
        tags: ["events"],
        summary: "Send one event, an array of events, or NDJSON; answered once the events are in the journal",
        security: [{ key: [] }],
        parameters: [
          {
            name: "Prefer",
            in: "header",
            description: "`wait` answers after the events are visible to readers, with `duplicates`.",
            schema: { type: "string" },
          },
        ],
        requestBody: {
          required: true,
          content: {
            ...json({
              anyOf: [
                event,
                { type: "array", items: event },
                {
                  type: "object",
                  required: ["events"],
                  properties: { events: { type: "array", items: event } },
                },
              ],
            }),
            "application/x-ndjson": { schema: { type: "string" } },
          },
        },
        responses: {
          200: { description: "Stored", content: json(z.toJSONSchema(IngestAnswer)) },
          400: error("The body cannot be read"),
          401: error("No key, or a wrong one"),
          403: error("The key lacks the scope ingest, or its project is archived"),
          413: error("Too large"),
          415: error("A content type or encoding that is not understood"),
          429: error("Over the key's quota; nothing was stored, see Retry-After"),
          503: error("Overloaded; nothing was stored, see Retry-After"),
        },
      },
    },
  } as NonNullable<OpenAPIObject["paths"]>;
}

/** OTLP/HTTP: bodies as opentelemetry-proto 1.x defines them, errors as google.rpc.Status. */
function otlpPaths(): NonNullable<OpenAPIObject["paths"]> {
  const encoded = (schema: object) => ({
    ...json(schema),
    "application/x-protobuf": { schema: { type: "string", format: "binary" } },
  });
  const status = {
    type: "object",
    required: ["code", "message"],
    properties: { code: { type: "integer" }, message: { type: "string" } },
  };
  const error = (description: string) => ({ description, content: encoded(status) });
  const paths = TELEMETRY_SIGNALS.map((signal) => [
    `/otlp/v1/${signal}`,
    {
      post: {
        operationId: `otlp-${signal}`,
        tags: ["events"],
        summary: `Send OpenTelemetry ${signal}; answered once the events made of them are in the journal`,
        security: [{ key: [] }],
        requestBody: { required: true, content: encoded({ type: "object" }) },
        responses: {
          200: {
            description: "Stored; `partialSuccess` says how many records were not, and why",
            content: encoded({ type: "object" }),
          },
          400: error("The body cannot be read"),
          401: error("No key, or a wrong one"),
          403: error("The key lacks the scope ingest, or its project is archived"),
          413: error("Too large"),
          415: error("A content type or encoding that is not understood"),
          429: error("Over the key's quota; nothing was stored, see Retry-After"),
          503: error("Overloaded; nothing was stored, see Retry-After"),
        },
      },
    },
  ]);
  return Object.fromEntries(paths) as NonNullable<OpenAPIObject["paths"]>;
}
