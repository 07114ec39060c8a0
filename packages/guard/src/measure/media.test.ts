import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aiShape } from "../ai-sdk/index.ts";
import { anthropicShape } from "../anthropic/index.ts";
import { ollamaShape } from "../ollama/index.ts";
import { chatShape, responsesShape } from "../openai/index.ts";
import { type ImageRule, mediaTokens } from "./media.ts";

const base64 = (bytes: readonly number[]) => Buffer.from(bytes).toString("base64");
const text = (value: string) => [...Buffer.from(value, "latin1")];
const big = (value: number, length: number) =>
  Array.from({ length }, (_, at) => (value >>> (8 * (length - 1 - at))) & 255);
const little = (value: number, length: number) => big(value, length).reverse();

const png = (width: number, height: number) =>
  base64([...text("\x89PNG\r\n\x1a\n"), ...big(13, 4), ...text("IHDR"), ...big(width, 4), ...big(height, 4)]);
const gif = (width: number, height: number) =>
  base64([...text("GIF89a"), ...little(width, 2), ...little(height, 2)]);
/** With a table before the frame, as cameras write it. */
const jpeg = (width: number, height: number) =>
  base64([
    ...[0xff, 0xd8, 0xff, 0xe1, ...big(1_002, 2), ...Array.from({ length: 1_000 }, () => 7)],
    ...[0xff, 0xc2, ...big(17, 2), 8, ...big(height, 2), ...big(width, 2), 3, 0, 0, 0, 0, 0, 0],
  ]);
const webp = (width: number, height: number) =>
  base64([
    ...text("RIFF\0\0\0\0WEBPVP8X"),
    ...[10, 0, 0, 0, 0, 0, 0, 0],
    ...little(width - 1, 3),
    ...little(height - 1, 3),
  ]);

const image = (data: string) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } });

describe("an image counts by its pixels", () => {
  it.each<[name: string, rule: ImageRule, part: Record<string, unknown>, tokens: number]>([
    ["OpenAI, one tile", "openai", image(png(512, 512)), 255],
    ["OpenAI, made smaller first", "openai", image(png(4_096, 2_048)), 85 + 170 * 6],
    [
      "OpenAI, low detail",
      "openai",
      { type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } },
      85,
    ],
    ["OpenAI, a link", "openai", { type: "input_image", image_url: "https://x/y.png" }, 765],
    [
      "Anthropic",
      "anthropic",
      { type: "image", source: { type: "base64", data: jpeg(1_000, 1_000) } },
      1_296,
    ],
    [
      "Anthropic, at most",
      "anthropic",
      { type: "image", source: { type: "base64", data: gif(9_000, 9_000) } },
      1_568,
    ],
    [
      "a file of the AI SDK",
      "openai",
      { type: "file", mediaType: "image/webp", data: webp(600, 400) },
      85 + 170 * 2,
    ],
  ])("%s", (_, rule, part, tokens) => {
    expect(mediaTokens(part, rule)).toBe(tokens);
  });
});

describe("a document counts by its pages", () => {
  const pdf = (pages: number) =>
    base64(text(`%PDF-1.7\n${"<< /Type /Page >>\n".repeat(pages)}<< /Type /Pages >>`));

  it.each<[Record<string, unknown>, number]>([
    [{ type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf(3) } }, 6_900],
    [
      { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf(2)}` } },
      4_600,
    ],
    [{ type: "input_file", file_id: "file-1" }, 2_300],
    [{ type: "file", mediaType: "application/pdf", data: Buffer.from(pdf(1), "base64") }, 2_300],
  ])("%#", (part, tokens) => {
    expect(mediaTokens(part, "anthropic")).toBe(tokens);
  });

  it("of a megabyte of compressed data counts some pages, not its characters", () => {
    const data = base64(Array.from({ length: 1_000_000 }, (_, at) => (at * 7_919) % 256));
    const tokens = mediaTokens({ type: "document", source: { type: "base64", data } }, "anthropic")!;
    expect(tokens).toBeGreaterThan(10_000);
    expect(tokens).toBeLessThan(60_000);
  });

  it("that is text counts as text", () => {
    const source = { type: "text", media_type: "text/plain", data: "plain words" };
    expect(mediaTokens({ type: "document", source }, "anthropic")).toBeUndefined();
    const [part] = anthropicShape.read({ role: "user", content: [{ type: "document", source }] });
    expect(part!.text).toContain("plain words");
  });
});

it("every shape counts an image once, and no character of its data", () => {
  const data = png(512, 512);
  const url = `data:image/png;base64,${data}`;
  const parts = [
    ...chatShape.read({ role: "user", content: [{ type: "text", text: "see" }, image(data)] }),
    ...responsesShape.read({ role: "user", content: [{ type: "input_image", image_url: url }] }),
    ...anthropicShape.read({ role: "user", content: [{ type: "image", source: { type: "base64", data } }] }),
    ...aiShape.read({ role: "user", content: [{ type: "image", image: url }] }),
    ...ollamaShape.read({ role: "user", content: "see", images: [data] }),
  ];
  expect(parts.map(({ extraTokens }) => extraTokens)).toEqual([255, 255, 361, 255, 255]);
  for (const part of parts) expect(part.text.length).toBeLessThan(10);
});

it("any data gives a number of tokens in reason", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("image", "document", "file", "input_audio", "text"),
      fc.oneof(fc.base64String(), fc.string(), fc.constantFrom(png(0, 0), jpeg(65_535, 1), "ÿØ", "data:,")),
      fc.constantFrom<ImageRule>("openai", "anthropic"),
      (type, data, rule) => {
        const tokens = mediaTokens({ type, source: { data } }, rule) ?? 0;
        expect(Number.isFinite(tokens) && tokens >= 0 && tokens < 1_000_000).toBe(true);
      },
    ),
  );
});
