/** How a provider counts images. */
export type ImageRule = "openai" | "anthropic";

/** An image, document or recording in a message. */
interface Media {
  kind: "image" | "document" | "audio";
  /** Base64, if the message holds the data itself. */
  data: string | undefined;
  /** `low` for an image that the provider makes small. */
  detail?: unknown;
}

type Fields = Record<string, unknown>;

/**
 * Estimated tokens of a part that is an image, a document or a recording, in the format of any provider; undefined for
 * another part. From the pixels of an image, the pages of a PDF and the size of a recording, or typical ones if the
 * message only has a link.
 */
export function mediaTokens(part: Fields, rule: ImageRule): number | undefined {
  const media = mediaIn(part);
  switch (media?.kind) {
    case "image":
      return imageTokens(media, rule);
    case "document":
      return pagesOf(media.data) * TOKENS_PER_PAGE;
    case "audio":
      return Math.ceil(((media.data?.length ?? TYPICAL_AUDIO) / AUDIO_CHARS_PER_SECOND) * TOKENS_PER_SECOND);
    default:
      return undefined;
  }
}

function mediaIn(part: Fields): Media | undefined {
  const type = String(part.type ?? "");
  const inner = (part.source ?? part.file ?? part.input_audio ?? part.inlineData ?? part) as Fields;
  const mime = String(inner.media_type ?? inner.mediaType ?? inner.mimeType ?? part.mediaType ?? "");
  const data = base64In(part, inner);
  if (type.includes("image") || mime.startsWith("image/")) {
    const detail = (part.image_url as Fields | undefined)?.detail ?? part.detail;
    return { kind: "image", data, detail };
  }
  if (type.includes("audio") || mime.startsWith("audio/")) return { kind: "audio", data };
  // Text that is sent as a file is counted as text.
  const isText = mime.startsWith("text/") || inner.type === "text" || inner.type === "content";
  const isFile = /^(?:document|file|input_file)$/.test(type) || mime === "application/pdf";
  return isFile && !isText ? { kind: "document", data } : undefined;
}

/** Finds the data where one of the providers has it. */
function base64In(part: Fields, inner: Fields): string | undefined {
  const url = (part.image_url as Fields | undefined)?.url ?? part.image_url;
  for (const value of [url, part.image, part.file_data, inner.file_data, inner.data, part.data]) {
    if (value instanceof Uint8Array) return base64Of(value);
    if (typeof value !== "string" || /^https?:/.test(value)) continue;
    return value.startsWith("data:") ? value.slice(value.indexOf(",") + 1) : value;
  }
  return undefined;
}

const base64Of = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes.subarray(0, READ_BYTES)) text += String.fromCharCode(byte);
  return btoa(text);
};

interface Pixels {
  width: number;
  height: number;
}

/** https://platform.openai.com/docs/guides/images-vision#calculating-costs, for the models that count tiles. */
const LOW_DETAIL = 85;
const TILE_TOKENS = 170;
const TILE = 512;
/** https://docs.claude.com/en/docs/build-with-claude/vision: patches of 28 pixels, at most 1,568. */
const PATCH = 28;
const MOST_PATCHES = 1_568;
const LONGEST_EDGE = 1_568;
const TYPICAL: Pixels = { width: 1_024, height: 1_024 };

function imageTokens({ data, detail }: Media, rule: ImageRule): number {
  const pixels = (data === undefined ? undefined : pixelsOf(data)) ?? TYPICAL;
  if (rule === "anthropic") {
    const { width, height } = within(pixels, LONGEST_EDGE);
    return Math.min(MOST_PATCHES, Math.ceil(width / PATCH) * Math.ceil(height / PATCH));
  }
  if (detail === "low") return LOW_DETAIL;
  const fitted = within(pixels, 2_048);
  const scale = Math.min(1, 768 / Math.min(fitted.width, fitted.height));
  const tiles = Math.ceil((fitted.width * scale) / TILE) * Math.ceil((fitted.height * scale) / TILE);
  return LOW_DETAIL + TILE_TOKENS * tiles;
}

function within({ width, height }: Pixels, longest: number): Pixels {
  const scale = Math.min(1, longest / Math.max(width, height));
  return { width: width * scale, height: height * scale };
}

/** A header lies within this many bytes, also after the thumbnail of a camera. */
const READ_BYTES = 262_144;

function bytesOf(data: string, most = READ_BYTES): string {
  const clean = data.slice(0, Math.ceil((most * 4) / 3)).replace(/[^A-Za-z0-9+/]/g, "");
  try {
    return atob(clean.length % 4 === 1 ? clean.slice(0, -1) : clean);
  } catch {
    return "";
  }
}

/** Reads the size from the header of a PNG, GIF, JPEG or WebP. */
function pixelsOf(data: string): Pixels | undefined {
  const bytes = bytesOf(data);
  const at = (place: number) => bytes.charCodeAt(place);
  const big = (place: number) => at(place) * 256 + at(place + 1);
  const little = (place: number) => at(place + 1) * 256 + at(place);
  const size = (width: number, height: number) => (width > 0 && height > 0 ? { width, height } : undefined);
  if (bytes.startsWith("\x89PNG")) return size(big(16) * 65_536 + big(18), big(20) * 65_536 + big(22));
  if (bytes.startsWith("GIF8")) return size(little(6), little(8));
  if (bytes.startsWith("RIFF") && bytes.slice(8, 12) === "WEBP") {
    const form = bytes.slice(12, 16);
    if (form === "VP8 ") return size(little(26) & 0x3fff, little(28) & 0x3fff);
    if (form === "VP8X") return size(little(24) + at(26) * 65_536 + 1, little(27) + at(29) * 65_536 + 1);
    if (form === "VP8L") {
      const bits = little(21) + little(23) * 65_536;
      return size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    return undefined;
  }
  if (!bytes.startsWith("\xff\xd8")) return undefined;
  for (let place = 2; place + 9 < bytes.length && at(place) === 0xff; place += 2 + big(place + 2)) {
    const marker = at(place + 1);
    // Start of a frame, which holds the size; the others in the range are tables.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return size(big(place + 7), big(place + 5));
  }
  return undefined;
}

/** A page costs 1,500 to 3,000 tokens: its text and its picture. */
const TOKENS_PER_PAGE = 2_300;
/** Characters of base64 of a typical page. */
const CHARS_PER_PAGE = 70_000;
const MOST_PDF_BYTES = 2_000_000;

function pagesOf(data: string | undefined): number {
  if (data === undefined) return 1;
  const bytes = bytesOf(data, MOST_PDF_BYTES);
  const found = bytes.match(/\/Type\s*\/Page(?![a-zA-Z])/g)?.length ?? 0;
  const share = Math.min(1, (bytes.length * 4) / 3 / data.length);
  return Math.max(1, Math.ceil(found > 0 ? found / share : data.length / CHARS_PER_PAGE));
}

/** Tokens of a second of speech, and characters of base64 of a second of a compressed recording. */
const TOKENS_PER_SECOND = 10;
const AUDIO_CHARS_PER_SECOND = 21_000;
/** A minute. */
const TYPICAL_AUDIO = AUDIO_CHARS_PER_SECOND * 60;
