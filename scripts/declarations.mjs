import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "./root.mjs";

// The compiler the project is checked with no longer has an interface for programs; the one kept for its parser has.
const ts = createRequire(join(root, "scripts/arrows/package.json"))("typescript");

const NOT_SHORTENED =
  ts.TypeFormatFlags.NoTruncation |
  ts.TypeFormatFlags.InTypeAlias |
  ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/**
 * The declaration files of some sources and of all they import from our packages: what TypeScript writes, with the
 * names that Node resolves.
 * @param {string[]} entries absolute paths of sources
 * @param {{ writtenOut?: string }} options a source whose exported types are written out in full, so that their
 * declarations import nothing
 * @returns {{ path: string, text: string }[]} `path` as if the file stood beside its source
 */
export function declarationsOf(entries, { writtenOut } = {}) {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: entries, include: [] }, ts.sys, root);
  const program = ts.createProgram(entries, {
    ...options,
    noEmit: false,
    incremental: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
  });
  const problems = ts.getPreEmitDiagnostics(program);
  if (problems.length > 0) {
    throw new Error(
      ts.formatDiagnostics(problems, {
        getCurrentDirectory: () => root,
        getCanonicalFileName: (name) => name,
        getNewLine: () => "\n",
      }),
    );
  }
  const files = [];
  program.emit(undefined, (path, text) => {
    files.push({ path, text: withResolvableNames(text) });
  });
  if (writtenOut === undefined) return files;
  const place = writtenOut.replace(/\.ts$/, ".d.ts");
  return files.map((file) => (file.path === place ? { ...file, text: typesOf(program, writtenOut) } : file));
}

/** Sources name each other as files; a declaration is found under the name of its script. */
function withResolvableNames(text) {
  return text.replace(/((?:from|import)\s*\(?\s*")(\.{1,2}\/[^"]+)\.ts"/g, '$1$2.js"');
}

function typesOf(program, path) {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const lines = [];
  for (const statement of file.statements) {
    if (!ts.isTypeAliasDeclaration(statement)) continue;
    if (!statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
    const type = checker.getTypeAtLocation(statement.name);
    lines.push(
      `export type ${statement.name.text} = ${checker.typeToString(type, undefined, NOT_SHORTENED)};`,
    );
  }
  return `${lines.join("\n")}\n`;
}
