import { GENERATION_HEADER, PolicyQuery, SavePolicyInput, safeParse } from "@plimsoll/protocol/api";
import type { Hono } from "hono";
import type { z } from "zod";
import { PlimsollError } from "../errors.ts";
import type { FreshnessSource } from "../lines/reader.ts";
import type { Policies } from "../policies/policies.ts";
import { type Access, actorOf } from "../tenants/access/principal.ts";
import type { MachineEnv } from "./app.ts";
import type { BodyRoom } from "./body-room.ts";
import { parsedJson, withCallBody } from "./call-body.ts";

export interface PolicyRoutesDeps {
  access: Pick<Access, "authorize">;
  policies: Pick<Policies, "bookOf" | "save">;
  freshness: FreshnessSource;
  room: BodyRoom;
}

/** `GET /api/v1/policy`: what a harness should run, or the whole policy; `PUT` saves a new version. */
export function policyRoutes({ access, policies, freshness, room }: PolicyRoutesDeps) {
  return (app: Hono<MachineEnv>): void => {
    app.get("/api/v1/policy", async (c) => {
      // No quota: after a change, all harnesses of a key ask at the same moment. The answer comes from memory.
      const { projectId } = await access.authorize(c.env.incoming, "read policies");
      const book = await policies.bookOf(projectId);
      c.header(GENERATION_HEADER, String(book.generation));
      c.header("Cache-Control", "no-cache");
      const asked = c.req.query();
      const answer =
        asked.harness === undefined && asked.model === undefined
          ? book.whole()
          : book.answerFor(...subjectOf(parse(PolicyQuery, asked)));
      const tag = `"${answer.hash}"`;
      c.header("ETag", tag);
      if (matches(c.req.header("if-none-match"), tag)) return c.body(null, 304);
      return c.json(answer);
    });

    app.put("/api/v1/policy", async (c) => {
      const principal = await access.authorize(c.env.incoming, "change policies");
      const expected = expectedGeneration(c.req.header("if-match"));
      const { policy, reason, from, rollout } = await withCallBody(
        room,
        principal.projectId,
        c.env.incoming,
        (bytes) => parse(SavePolicyInput, parsedJson(bytes)),
      );
      // A share is one of all harnesses that have reported until now.
      if (rollout !== undefined) await freshness.wait(principal.projectId);
      const generation = await policies.save({
        projectId: principal.projectId,
        body: policy,
        expected,
        reason,
        actor: actorOf(principal),
        ...(from && { from }),
        ...(rollout && { rollout }),
      });
      c.header(GENERATION_HEADER, String(generation));
      return c.json((await policies.bookOf(principal.projectId)).whole());
    });
  };
}

const subjectOf = ({ harness, model }: PolicyQuery) => [harness, model] as const;

/** RFC 9110: a list of tags, weak ones too, or `*`. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === tag);
}

/** @throws PlimsollError `bad_request` */
function expectedGeneration(header: string | undefined): number {
  const digits = /^\s*(?:W\/)?"?(\d{1,9})"?\s*$/.exec(header ?? "")?.[1];
  if (digits !== undefined) return Number(digits);
  throw new PlimsollError(
    "bad_request",
    'Send the generation that you changed: If-Match: "7". It is in the answer to GET /api/v1/policy; 0 if there is no policy yet.',
  );
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlimsollError("invalid_field", `${issue?.path.join(".")}: ${issue?.message}`);
}
