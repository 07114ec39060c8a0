import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);

/** The entry points of a package, by what they are imported as. */
async function entriesOf(name: string): Promise<Map<string, string>> {
  const folder = join(root, "packages", name);
  const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const parts = (await readdir(join(folder, "src"), { recursive: true })).filter((file) =>
    /^(?:[^/\\]+[/\\])?index\.ts$/.test(file),
  );
  const entries = parts.map((file): [string, string] => {
    const part = file.replaceAll("\\", "/").replace(/\/?index\.ts$/, "");
    return [part === "" ? `@plimsoll/${name}` : `@plimsoll/${name}/${part}`, join(folder, "src", file)];
  });
  const known = Object.keys(exports).map((path) => `@plimsoll/${name}${path.slice(1)}`);
  return new Map(entries.filter(([module]) => known.includes(module)));
}

const entries = new Map([...(await entriesOf("guard")), ...(await entriesOf("runtime"))]);
const program = ts.createProgram([...entries.values()], { ...options, noEmit: true });
const checker = program.getTypeChecker();

interface Exported {
  name: string;
  module: string;
  isFunction: boolean;
  isType: boolean;
  example: string | undefined;
}

/** Everything that a user can import, once. */
const exported = new Map<string, Exported>();
for (const [module, file] of entries) {
  const symbol = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
  for (const one of checker.getExportsOfModule(symbol)) {
    const target = one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one;
    const example = target
      .getJsDocTags(checker)
      .find(({ name }) => name === "example")
      ?.text?.map(({ text }) => text)
      .join("");
    const isFunction = (target.flags & ts.SymbolFlags.Function) !== 0;
    const isType = (target.flags & ts.SymbolFlags.Value) === 0;
    if (!exported.has(one.name))
      exported.set(one.name, { name: one.name, module, isFunction, isType, example });
  }
}

/** Names that an example uses and does not declare. */
function freeNames(code: string): Set<string> {
  const source = ts.createSourceFile("example.ts", code, ts.ScriptTarget.Latest, true);
  const declared = new Set<string>();
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    const named = node as ts.Node & { name?: ts.Node };
    const declares =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node);
    if (declares && named.name !== undefined && ts.isIdentifier(named.name)) declared.add(named.name.text);
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isMember = ts.isPropertyAccessExpression(parent) && parent.name === node;
      const isKey = ts.isPropertyAssignment(parent) && parent.name === node;
      if (!isMember && !isKey) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return new Set([...used].filter((name) => !declared.has(name)));
}

const GLOBALS = new Set(["process", "console", "JSON", "Date", "Promise", "undefined", "Math"]);
/** Names of other packages, as their users import them. */
const PACKAGES: Readonly<Record<string, readonly [clause: string, module: string]>> = {
  OpenAI: ["OpenAI", "openai"],
  Anthropic: ["Anthropic", "@anthropic-ai/sdk"],
  Ollama: ["{ Ollama }", "ollama"],
  generateText: ["{ generateText }", "ai"],
  wrapLanguageModel: ["{ wrapLanguageModel }", "ai"],
  readFileSync: ["{ readFileSync }", "node:fs"],
};

/** An example as a module: what it uses is imported, and what the reader has is declared. */
function moduleOf(code: string): string {
  const lines: string[] = [];
  for (const name of freeNames(code)) {
    if (GLOBALS.has(name)) continue;
    const known = exported.get(name);
    const [clause, module] = PACKAGES[name] ?? [];
    if (clause !== undefined) lines.push(`import ${clause} from "${module}";`);
    else if (known !== undefined)
      lines.push(`import { ${known.isType ? "type " : ""}${name} } from "${known.module}";`);
    else lines.push(`declare const ${name}: any;`);
  }
  return `${lines.join("\n")}\nexport {};\n${code}\n`;
}

describe("the examples in docstrings", () => {
  it("are there for every function that a user can import", () => {
    const without = [...exported.values()].filter(
      ({ isFunction, example }) => isFunction && example === undefined,
    );
    expect(exported.size).toBeGreaterThan(100);
    expect(without.map(({ module, name }) => `${module} ${name}`)).toEqual([]);
  });

  it("compile", () => {
    const files = new Map<string, string>();
    for (const { name, example } of exported.values())
      if (example !== undefined)
        files.set(join(root, "packages/guard/src", `example-${name}.ts`), moduleOf(example));
    expect(files.size).toBeGreaterThan(20);
    const host = ts.createCompilerHost(options);
    const { readFile: read, fileExists, getSourceFile } = host;
    host.readFile = (file) => files.get(file) ?? read(file);
    host.fileExists = (file) => files.has(file) || fileExists(file);
    host.getSourceFile = (file, ...rest) => {
      const text = files.get(file);
      return text === undefined ? getSourceFile(file, ...rest) : ts.createSourceFile(file, text, rest[0]);
    };
    const checked = ts.createProgram(
      [...files.keys()],
      { ...options, noEmit: true, incremental: false },
      host,
    );
    const wrong = [...files.keys()].flatMap((file) =>
      ts
        .getPreEmitDiagnostics(checked, checked.getSourceFile(file))
        .map(
          ({ messageText }) =>
            `${file.replace(root, "")}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
        ),
    );
    expect(wrong).toEqual([]);
  });
});
