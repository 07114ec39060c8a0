import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { bindMigrationAwareSqlAdapterFactory, type SqlDriverAdapter } from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import { engineAdapterFactory } from "./engine-adapter.ts";

/** The part of the package that its types leave out. */
interface Glue {
  SchemaEngine: typeof SchemaEngine;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

let loading: Promise<Glue> | undefined;

/**
 * Loads the engine. The package's entry point imports the .wasm file as a module, which Node 20 cannot do.
 */
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

/**
 * Runs `work` with Prisma's schema engine on a pool of its own. Loading the engine takes about 0.2 s and 20 MB.
 * @param root the folder that holds `prisma/schema.prisma`
 */
export async function withSchemaEngine<T>(
  url: string,
  root: string,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  loading ??= load();
  const { SchemaEngine } = await loading;
  const datamodel = await readFile(join(root, "prisma", "schema.prisma"), "utf8");
  // The engine opens connections and does not close them.
  const opened: SqlDriverAdapter[] = [];
  const factory = engineAdapterFactory(url);
  const remember = async (adapter: Promise<SqlDriverAdapter>) => {
    opened.push(await adapter);
    return adapter;
  };
  const bound = bindMigrationAwareSqlAdapterFactory({
    ...factory,
    connect: () => remember(factory.connect()),
    connectToShadowDb: () => remember(factory.connectToShadowDb()),
  });
  try {
    const engine = await SchemaEngine.new({ datamodels: [["schema.prisma", datamodel]] }, () => {}, bound);
    try {
      return await work(engine);
    } finally {
      engine.free();
    }
  } finally {
    for (const adapter of opened.reverse()) await adapter.dispose();
  }
}
