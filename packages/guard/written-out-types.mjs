import { existsSync, readFileSync } from "node:fs";
import ts from "typescript";

const FULL_TYPE =
  ts.TypeFormatFlags.NoTruncation |
  ts.TypeFormatFlags.InTypeAlias |
  ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/**
 * A bundler plugin. Types that the protocol infers from zod schemas are declared with all their fields, because
 * bundling zod's own declarations does not compile in a strict project.
 * @param {string} tsconfig path of the tsconfig.json with the compiler options
 */
export function writtenOutTypes(tsconfig) {
  return {
    name: "written-out-types",
    load: {
      order: "pre",
      filter: { id: /[/\\]packages[/\\]protocol[/\\]src[/\\].+\.d\.ts$/ },
      handler(id) {
        const source = id.replace(/\.d\.ts$/, ".ts");
        if (existsSync(source) && readFileSync(source, "utf8").includes('from "zod"')) {
          return exportedTypes(source, tsconfig);
        }
      },
    },
  };
}

/** Declarations of the types that a source exports. They name no other type. */
function exportedTypes(source, tsconfig) {
  const { options } = ts.getParsedCommandLineOfConfigFile(tsconfig, {}, ts.sys);
  const program = ts.createProgram([source], options);
  const checker = program.getTypeChecker();
  return program
    .getSourceFile(source)
    .statements.filter(ts.isTypeAliasDeclaration)
    .filter((alias) => alias.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
    .map(({ name }) => {
      const type = checker.typeToString(checker.getTypeAtLocation(name), undefined, FULL_TYPE);
      return `export type ${name.text} = ${type};\n`;
    })
    .join("");
}
