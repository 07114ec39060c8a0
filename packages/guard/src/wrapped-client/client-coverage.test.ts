import "../testing/clean-environment.ts";

import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";

const openai = new OpenAI({ apiKey: "x" });
const anthropic = new Anthropic({ apiKey: "x" });
const ollama = new Ollama();
const gemini = new GoogleGenAI({ apiKey: "x" });

const page = readFileSync(new URL("../../../../docs/guard.md", import.meta.url), "utf8");
const listed = /## What is not covered\n([\s\S]*?)\n## /.exec(page)?.[1] ?? "";

/** Public methods, also those that a class inherits. */
function methodsOf(resource: object): string[] {
  const names = new Set<string>();
  for (let one = Object.getPrototypeOf(resource); one !== Object.prototype; one = Object.getPrototypeOf(one))
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  return [...names].filter((name) => name !== "constructor" && !name.startsWith("_")).sort();
}

/** The resources of a client or a resource. */
const resourcesOf = (client: object) =>
  Object.entries(client)
    .filter(([name, value]) => !name.startsWith("_") && typeof value?._client === "object")
    .map(([name]) => name);

interface Methods {
  resource: object;
  guarded: string[];
  /** Reach a model and pass through. */
  listed: string[];
  noModel: string[];
}

// Guard or list a method of a new version before adding it here.
const METHODS: Readonly<Record<string, Methods>> = {
  "chat.completions.": {
    resource: openai.chat.completions,
    guarded: ["create", "parse", "runTools", "stream"],
    listed: [],
    noModel: ["delete", "list", "retrieve", "update"],
  },
  "responses.": {
    resource: openai.responses,
    guarded: ["cancel", "create", "parse", "retrieve", "stream"],
    listed: ["compact"],
    noModel: ["delete"],
  },
  "beta.responses.": {
    resource: openai.beta.responses,
    guarded: ["cancel", "create", "retrieve"],
    listed: ["compact"],
    noModel: ["delete"],
  },
  "messages.": {
    resource: anthropic.messages,
    guarded: ["create", "parse", "stream"],
    listed: ["countTokens"],
    noModel: [],
  },
  "beta.messages.": {
    resource: anthropic.beta.messages,
    guarded: ["create", "parse", "stream", "thread", "toolRunner"],
    listed: ["countTokens"],
    noModel: [],
  },
  "": {
    resource: ollama,
    guarded: ["abort", "chat", "generate"],
    listed: ["embed", "embeddings", "systemone"],
    noModel: [
      ...["copy", "create", "delete", "list", "ps", "pull", "push", "show", "version"],
      ...["webFetch", "webSearch", "encodeImage", "fileExists", "processStreamableRequest"],
    ],
  },
};

/** Resources that reach no model, and those that the guard wraps. */
const OTHER_RESOURCES: Readonly<Record<string, readonly string[]>> = {
  openai: [
    ...["chat", "responses", "beta"],
    ...["files", "models", "vectorStores", "webhooks", "uploads", "admin", "conversations", "containers"],
    ...["skills", "graders"],
  ],
  "openai.beta": ["responses"],
  anthropic: ["messages", "beta", "models", "files", "skills", "userProfiles", "organization"],
  "anthropic.beta": [
    ...["messages", "models", "files", "skills", "userProfiles", "organization", "environments"],
    ...["deploymentRuns", "vaults", "memoryStores", "webhooks", "tunnels"],
  ],
};

describe("every call of the clients that reaches a model is guarded, or the docs list it", () => {
  it.each(Object.entries(METHODS))("the methods of %s", (prefix, { resource, guarded, noModel, ...more }) => {
    expect(methodsOf(resource)).toEqual([...guarded, ...more.listed, ...noModel].sort());
    expect(more.listed.filter((one) => !listed.includes(`\`${prefix}${one}\``))).toEqual([]);
  });

  it.each([
    ["openai", openai, ""],
    ["openai.beta", openai.beta, "beta."],
    ["anthropic", anthropic, ""],
    ["anthropic.beta", anthropic.beta, "beta."],
  ] as const)("the resources of %s", (name, client, prefix) => {
    const others = resourcesOf(client).filter((one) => !OTHER_RESOURCES[name]!.includes(one));
    expect(others.filter((one) => !listed.includes(`\`${prefix}${one}\``))).toEqual([]);
  });

  it("the methods and resources of GoogleGenAI", () => {
    const own = Object.keys(gemini.models).filter((name) => name !== "apiClient");
    // Private, and called by the public ones.
    const inner = /Internal$|WithContinuation$|^maybe|^process|^init/;
    const methods = [...own, ...methodsOf(gemini.models)].filter((name) => !inner.test(name));
    const guarded = ["generateContent", "generateContentStream"];
    const noModel = ["list", "get", "update", "delete"];
    const others = methods.filter((name) => ![...guarded, ...noModel].includes(name));
    expect(others.filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
    expect(methods).toEqual(expect.arrayContaining(guarded));
    expect(methodsOf(gemini.chats)).toEqual(["create"]);
    const fields = Object.entries(gemini).flatMap(([name, value]) =>
      typeof value === "object" ? [name] : [],
    );
    const known = [
      ...["apiClient", "httpOptions", "models", "chats", "caches", "files", "operations", "authTokens"],
      ...["fileSearchStores", "getNextGenClient", "webhooks", "environments", "credentials", "voices"],
    ];
    const resources = [...fields, ...methodsOf(gemini)].filter((name) => !known.includes(name));
    expect(resources.filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
  });
});
