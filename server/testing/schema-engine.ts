import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import type { MigrationList, SchemaEngine } from "@prisma/schema-engine-wasm";
import { projectRoot } from "../root.ts";

/** The part of the package that its types leave out. */
interface Glue {
  SchemaEngine: typeof SchemaEngine;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

/** Prisma's filter for tables managed elsewhere: none. */
const NO_FILTER = { externalTables: [], externalEnums: [] };

/** What `prisma migrate deploy` does: applies what `_prisma_migrations` lacks. Returns the names. */
export async function deployWithPrisma(
  url: string,
  migrations: readonly { name: string; script: string }[],
): Promise<string[]> {
  const migrationsList: MigrationList = {
    baseDir: join(projectRoot(), "prisma", "migrations"),
    lockfile: { path: "migration_lock.toml", content: 'provider = "postgresql"\n' },
    shadowDbInitScript: "",
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok", value: script } },
    })),
  };
  return withSchemaEngine(url, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: NO_FILTER });
    return appliedMigrationNames;
  });
}

/** What `prisma migrate diff --from-empty --to-schema prisma/schema.prisma --script` prints. */
export function scriptOfSchema(url: string): Promise<string> {
  return withSchemaEngine(url, async (engine, schema) => {
    const { stdout } = await engine.diff({
      from: { tag: "empty" },
      to: { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content: schema }] },
      script: true,
      exitCode: null,
      filters: NO_FILTER,
    });
    return stdout!;
  });
}

let loading: Promise<Glue> | undefined;

/** The package's entry point imports the .wasm file as a module, which Node 20 cannot do. */
async function load(): Promise<Glue> {
  const glue = (await import("@prisma/schema-engine-wasm/schema_engine_bg")) as unknown as Glue;
  const folder = dirname(createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm"));
  const bytes = await readFile(join(folder, "schema_engine_bg.wasm"));
  const { instance } = await WebAssembly.instantiate(bytes, {
    "./schema_engine_bg.js": glue as unknown as WebAssembly.ModuleImports,
  });
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return glue;
}

async function withSchemaEngine<T>(
  url: string,
  work: (engine: SchemaEngine, schema: string) => Promise<T>,
): Promise<T> {
  loading ??= load();
  const { SchemaEngine } = await loading;
  const schema = await readFile(join(projectRoot(), "prisma", "schema.prisma"), "utf8");
  const factory = bindMigrationAwareSqlAdapterFactory(
    new PrismaPg({ connectionString: url, idleTimeoutMillis: 1 }),
  );
  const engine = await SchemaEngine.new({ datamodels: [["schema.prisma", schema]] }, () => {}, factory);
  try {
    return await work(engine, schema);
  } finally {
    engine.free();
  }
}
