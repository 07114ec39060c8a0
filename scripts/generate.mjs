import { spawnSync } from "node:child_process";
import { existsSync, statSync, utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./root.mjs";

const inputs = ["prisma/schema.prisma", "prisma.config.ts", "node_modules/prisma/package.json"];
const output = "server/db/generated/client.ts";

/** True when the generated client is newer than everything it is made from. */
export function isGenerated() {
  const made = join(root, output);
  if (!existsSync(made)) return false;
  const age = statSync(made).mtimeMs;
  return inputs.every((path) => !existsSync(join(root, path)) || statSync(join(root, path)).mtimeMs <= age);
}

/**
 * Makes the typed database client from prisma/schema.prisma, unless it is there already.
 * @returns true when it was made now
 */
export function generate() {
  if (isGenerated()) return false;
  const prisma = join(createRequire(import.meta.url).resolve("prisma/package.json"), "../build/index.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [prisma, "generate"], {
    cwd: root,
    encoding: "utf8",
    env: {
      ...process.env,
      // `generate` never runs this engine, but would download it; any program that exists will do.
      PRISMA_SCHEMA_ENGINE_BINARY: process.env.PRISMA_SCHEMA_ENGINE_BINARY ?? process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
      CHECKPOINT_DISABLE: "1",
    },
  });
  if (status !== 0) throw new Error(`prisma generate failed:\n${stdout}${stderr}`);
  // Prisma leaves a file alone when its text would be the same.
  const now = new Date();
  utimesSync(join(root, output), now, now);
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(generate() ? `Made ${output}.` : `${output} is up to date.`);
}
