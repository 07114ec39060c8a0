import "../testing/clean-environment.ts";

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { GuardError } from "../error.ts";
import { createGuard, type Guard } from "../guard.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { type Script, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import { guardResponses, type InputItem, responsesShape } from "./index.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const MASKING: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "50%", hard: null } };

function guarded(url: string, policy: PolicyInput = MASKING) {
  const events: PlimsollEventInput[] = [];
  const guard: Guard<InputItem> = createGuard<InputItem>({
    identity: { harness: "h" },
    shape: responsesShape,
    window: 4_000,
    policy,
    onEvent: (event) => void events.push(event),
  });
  const client = guardResponses(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 }), guard);
  return { guard, client, turns: () => events.filter(({ type }) => type === "turn") };
}

async function scripted(script: Script = () => ({ text: '{"city":"Lübeck"}' }), policy?: PolicyInput) {
  const model = await startScriptedModel(script);
  open.push(model);
  return { model, ...guarded(model.url, policy) };
}

/** A history of `files` read files. */
function readFiles(files: number): OpenAI.Responses.ResponseInputItem[] {
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Read all of them." }];
  for (let file = 0; file < files; file++) {
    input.push(
      { type: "function_call", call_id: `c${file}`, name: "read", arguments: `{"path":"f${file}.ts"}` },
      { type: "function_call_output", call_id: `c${file}`, output: filler(300, "line") },
    );
  }
  return input;
}

describe("the helpers of the Responses API", () => {
  it("parse and stream are fitted and measured, and keep their types", async () => {
    const { client, guard, model, turns } = await scripted();
    const input = readFiles(12);
    const format = zodTextFormat(z.object({ city: z.string() }), "city");
    const answer = await client.responses.parse({ model: "m", input, text: { format } });
    const city: string | undefined = answer.output_parsed?.city;
    expect(city).toBe("Lübeck");
    expect(answer.output_text).toBe('{"city":"Lübeck"}');
    const stream = client.responses.stream({ model: "m", input, text: { format } });
    expect((await stream.finalResponse()).output_parsed).toEqual({ city: "Lübeck" });
    await client.withOptions({ timeout: 9_000 }).responses.create({ model: "m", input });
    await client.beta.responses.create({ model: "m", input: input as never });
    for (const request of model.requests) expect(request.promptTokens).toBeLessThan(4_000);
    expect(input).toEqual(readFiles(12));
    expect(turns()).toHaveLength(4);
    expect(guard.conversation().state).toMatchObject({ allTurns: 4, window: 0 });
  });

  it("a stream that is refused for want of a restart has the guard's error as its cause", async () => {
    const { client, model } = await scripted(undefined, {
      thresholds: { warning: null, ceiling: null, soft: null, hard: "50%" },
      mask: null,
      compact: null,
      restart: { graceTurns: 0, max: 0 },
    });
    const stream = client.responses.stream({ model: "m", input: filler(5_000) });
    const failure = await stream.finalResponse().catch((error: unknown) => error);
    expect((failure as Error).cause).toBeInstanceOf(GuardError);
    expect(model.requests).toEqual([]);
  });

  it("a stream that is aborted counts with the estimate", async () => {
    const { client, turns } = await scripted();
    for await (const _ of await client.responses.create({ model: "m", input: "Hello", stream: true })) break;
    (await client.responses.create({ model: "m", input: "Hello", stream: true })).controller.abort();
    expect(turns()).toMatchObject([{ estimated: true }, { estimated: true }]);
  });
});

describe("a history on the server", () => {
  it("is measured in the conversation of the answer that a call continues", async () => {
    const { client, guard, model } = await scripted();
    const ids: (string | undefined)[] = [undefined, undefined];
    for (let turn = 0; turn < 3; turn++)
      for (const [who, name] of ["anna", "berta"].entries()) {
        const previous_response_id = ids[who];
        const keyed = previous_response_id === undefined ? {} : { previous_response_id };
        const params = { model: "m", input: `I am ${name}, ${filler(50 * (turn + 1))}`, ...keyed };
        const answer = await client.responses.create(params);
        ids[who] = answer.id;
        expect(model.requests.at(-1)!.body.input).toEqual(
          previous_response_id === undefined && who === 0
            ? [{ role: "user", content: params.input }]
            : params.input,
        );
      }
    expect(guard.conversation().state).toMatchObject({ allTurns: 3, level: model.requests[4]!.promptTokens });
    // The second conversation is known by the first answer that a call continued.
    expect(guard.sideCalls).toBe(1);
    expect(guard.conversations()).toHaveLength(2);
  });

  it("does not teach the guard a size for messages that the call does not have", async () => {
    const sizes = [500, 2_000, 3_000, 1_000];
    const { client, guard } = await scripted(({ call }) => ({ text: "ok", promptTokens: sizes[call - 1]! }));
    const conversation = "conv_1";
    const levels: (number | undefined)[] = [];
    for (const _ of sizes) {
      await client.responses.create({ model: "m", input: "go on", conversation });
      levels.push(guard.conversation(conversation).state.level);
    }
    expect(levels).toEqual(sizes);
    expect(guard.conversation(conversation).state.calibration.counts).toBe(0);
  });

  it("a call with a stored prompt and no input keeps its form and the conversation", async () => {
    const { client, guard, model } = await scripted();
    const thread = guard.conversation();
    const alone = guardResponses(new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }), thread);
    await alone.responses.create({ model: "m", input: "Hello" });
    await alone.responses.create({ prompt: { id: "pmpt_1" } });
    expect(model.requests.at(-1)!.body).toEqual({ prompt: { id: "pmpt_1" } });
    await client.responses.create({ prompt: { id: "pmpt_1" } });
    expect(thread.state).toMatchObject({ allTurns: 2, window: 0 });
  });
});

/** A server that works on responses in the background until `finish`. */
async function backgroundServer() {
  const status = new Map<string, string>();
  const responseOf = (id: string) => {
    const done = status.get(id) === "completed";
    return {
      id,
      object: "response",
      model: "m",
      background: true,
      status: status.get(id),
      output: [],
      usage: done
        ? { input_tokens: 777, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5 }
        : null,
    };
  };
  const send = (response: ServerResponse, id: string, stream: boolean) => {
    const whole = responseOf(id);
    if (!stream) {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify(whole));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const types = ["response.created", `response.${whole.status}`];
    for (const [sequence_number, type] of types.entries())
      response.write(`data: ${JSON.stringify({ type, sequence_number, response: whole })}\n\n`);
    response.end();
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, "http://localhost");
    const [, , , id, verb] = url.pathname.split("/");
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (id === undefined) {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as { stream?: boolean };
      const begun = `resp_${status.size + 1}`;
      status.set(begun, body.stream === true ? "in_progress" : "queued");
      return send(response, begun, body.stream === true);
    }
    if (verb === "cancel") status.set(id, "cancelled");
    send(response, id, url.searchParams.get("stream") === "true");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...guarded(url), url, finish: (id: string) => void status.set(id, "completed") };
}

describe("a background response", () => {
  const params = { model: "m", input: "Hello", background: true } as const;

  it("is measured once, when it is complete, however often it is polled", async () => {
    const { client, guard, finish, turns } = await backgroundServer();
    const { id, status } = await client.responses.create(params);
    expect(status).toBe("queued");
    await client.responses.retrieve(id);
    expect(turns()).toEqual([]);
    finish(id);
    const polled = await Promise.all([1, 2, 3].map(() => client.responses.retrieve(id).withResponse()));
    expect(polled.map(({ data }) => data.status)).toEqual(["completed", "completed", "completed"]);
    await client.withOptions({ timeout: 9_000 }).responses.retrieve(id);
    expect(turns()).toMatchObject([{ id }]);
    expect(guard.conversation().state).toMatchObject({ allTurns: 1, level: 777 });
  });

  it("is measured when a stream of it returns it complete", async () => {
    const { client, guard, finish, turns } = await backgroundServer();
    const { id } = await client.responses.create(params);
    const events: string[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true })) events.push(event.type);
    expect(events).toEqual(["response.created", "response.queued"]);
    expect(turns()).toEqual([]);
    finish(id);
    await client.responses.stream({ response_id: id }).finalResponse();
    await client.responses.stream({ response_id: id }).finalResponse();
    expect(turns()).toMatchObject([{ id }]);
    expect(guard.conversation().state.level).toBe(777);
  });

  it("continues after its stream is aborted, and is then measured as usual", async () => {
    const { client, guard, finish, turns } = await backgroundServer();
    let id = "";
    for await (const event of await client.responses.create({ ...params, stream: true })) {
      if (event.type === "response.created") id = event.response.id;
      break;
    }
    expect(turns()).toEqual([]);
    finish(id);
    await client.responses.retrieve(id);
    expect(turns()).toHaveLength(1);
    expect(guard.conversation().state.level).toBe(777);
  });

  it("counts with the estimate when it is cancelled", async () => {
    const { client, turns } = await backgroundServer();
    const { id } = await client.responses.create(params);
    expect((await client.responses.cancel(id)).status).toBe("cancelled");
    expect(turns()).toMatchObject([{ id, estimated: true }]);
  });

  it("that is never retrieved counts with the estimate once too many are waited for", async () => {
    const { client, finish, turns } = await backgroundServer();
    const first = await client.responses.create(params);
    for (let more = 0; more < 1_000; more++) await client.responses.create(params);
    expect(turns()).toMatchObject([{ id: first.id, estimated: true }]);
    finish(first.id);
    await client.responses.retrieve(first.id);
    expect(turns()).toHaveLength(1);
  });

  it("of another process, or of no guard, is read without being counted", async () => {
    const { client, guard, finish, turns, url } = await backgroundServer();
    const { id } = await new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" }).responses.create(params);
    finish(id);
    expect((await client.responses.retrieve(id)).usage!.input_tokens).toBe(777);
    expect(turns()).toEqual([]);
    expect(guard.conversations()).toEqual([]);
  });

  it("belongs to its conversation, if two are worked on at the same time", async () => {
    const { guard, finish, url } = await backgroundServer();
    const bare = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    const withKey = guardResponses(bare, guard, { conversation: ({ user }: { user?: string }) => user });
    const [a, b] = [
      await withKey.responses.create({ ...params, user: "a" }),
      await withKey.responses.create({ ...params, user: "b" }),
    ];
    finish(b.id);
    await withKey.responses.retrieve(b.id);
    expect(guard.conversation("a").state.allTurns).toBe(0);
    expect(guard.conversation("b").state).toMatchObject({ allTurns: 1, level: 777 });
    finish(a.id);
    await withKey.responses.retrieve(a.id);
    expect(guard.conversation("a").state).toMatchObject({ allTurns: 1, level: 777 });
  });
});
