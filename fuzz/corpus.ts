import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { FORMATS } from "@plimsoll/harnesses/recordings";
import { z } from "zod";
import { CALLERS, type HttpInput } from "./http-input.ts";
import { PROGRAM_NAMES } from "./programs.ts";

export const TARGETS = ["bodies", "telemetry", "queries", "recordings"] as const;
export type Target = (typeof TARGETS)[number];

/** Bytes as text where possible; `["\n", 16000000]` repeats a text, so that a bomb is a short file. */
const Part = z.union([
  z.string(),
  z.tuple([z.string(), z.number().int().min(0)]),
  z.object({ base64: z.base64() }),
]);
const Bytes = z.object({ parts: z.array(Part), encode: z.enum(["gzip", "deflate", "br"]).optional() });
export type Bytes = z.infer<typeof Bytes>;

const Kept = z.object({
  /** What the input covers, or what it once caused. */
  about: z.string().min(1),
});

export const KeptRequest = Kept.extend({
  as: z.enum(CALLERS),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  body: Bytes.optional(),
});
export type KeptRequest = z.input<typeof KeptRequest>;

export const KeptRecording = Kept.extend({
  format: z.enum([...FORMATS, ...PROGRAM_NAMES]),
  files: z.array(z.object({ path: z.string(), content: Bytes })),
});
export type KeptRecording = z.input<typeof KeptRecording>;

const folderOf = (target: Target) => fileURLToPath(new URL(`corpus/${target}`, import.meta.url));

/** The kept inputs of a target by file name, in one order everywhere. */
export function readCorpus<T>(target: Target, schema: z.ZodType<T>): [name: string, kept: T][] {
  const folder = folderOf(target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort();
  return names.map((name) => [name, schema.parse(JSON.parse(readFileSync(join(folder, name), "utf8")))]);
}

/** Keeps an input and returns the path of its file. */
export function keep(target: Target, name: string, kept: KeptRequest | KeptRecording): string {
  const folder = folderOf(target);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(kept, null, 2)}\n`);
  return path;
}

export function bytesOf({ parts, encode }: Bytes): Buffer {
  const plain = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(part);
      return Array.isArray(part) ? Buffer.from(part[0].repeat(part[1])) : Buffer.from(part.base64, "base64");
    }),
  );
  switch (encode) {
    case "gzip":
      return gzipSync(plain);
    case "deflate":
      return deflateSync(plain);
    case "br":
      return brotliCompressSync(plain);
    default:
      return plain;
  }
}

/** Bytes as a corpus file holds them. */
export function keptBytes(bytes: Buffer): Bytes {
  const text = bytes.toString("utf8");
  return { parts: [Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString("base64") }] };
}

export function inputOf(kept: z.output<typeof KeptRequest>): HttpInput {
  const { as, method, path, headers, body } = kept;
  return {
    as,
    method,
    path,
    headers: Object.entries(headers),
    body: body === undefined ? Buffer.alloc(0) : bytesOf(body),
  };
}

export function keptRequest(input: HttpInput, about: string): KeptRequest {
  return {
    about,
    as: input.as,
    method: input.method,
    path: input.path,
    headers: Object.fromEntries(input.headers),
    ...(input.body.length > 0 && { body: keptBytes(input.body) }),
  };
}
