// Compresses the scripts and style sheets of the build once, as small as they get, so that the server only sends files.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const FOLDER = ".next/static";
/** Bytes below which headers weigh more than what compression saves. */
const SMALLEST = 1_024;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

const files = (await readdir(FOLDER, { recursive: true })).filter((name) => /\.(?:js|css)$/.test(name));
await Promise.all(
  files.map(async (name) => {
    const path = join(FOLDER, name);
    const content = await readFile(path);
    if (content.length < SMALLEST) return;
    const params = {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    };
    await writeFile(`${path}.br`, await toBrotli(content, { params }));
    await writeFile(`${path}.gz`, await toGzip(content, { level: 9 }));
  }),
);
