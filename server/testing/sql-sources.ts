import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { projectRoot } from "../root.ts";

/** A piece of SQL in the server's source, or a call that makes a statement. */
export interface SqlSource {
  /** File and line. */
  place: string;
  /** Matches every statement that comes from it. */
  pattern: RegExp;
}

/** SQL is written in capitals; no message of the server has these words so. */
const SQL = /(?:^|[\s(])(?:SELECT|FROM|JOIN|INSERT INTO|UPDATE|DELETE FROM|COPY|MERGE INTO)\s/;

/** What the methods of `server/db/tables/table.ts` begin and end with. */
const TABLE_METHODS: Record<string, (table: string) => RegExp> = {
  insert: (table) => new RegExp(`INSERT INTO ${table} AS t `),
  insertIfAbsent: (table) => new RegExp(`INSERT INTO ${table} AS t [\\s\\S]* DO NOTHING`),
  upsert: (table) => new RegExp(`INSERT INTO ${table} AS t [\\s\\S]* DO UPDATE SET `),
  update: (table) => new RegExp(`UPDATE ${table} t SET `),
  delete: (table) => new RegExp(`DELETE FROM ${table} t USING `),
  find: (table) => new RegExp(`FROM ${table} t WHERE t.project_id = \\$1 [\\s\\S]* OFFSET 0`),
};

const CLIENT_METHODS: [method: RegExp, verb: string][] = [
  [/^(find|count$|aggregate$|groupBy$)/, "SELECT [\\s\\S]* FROM"],
  [/^(create|upsert$)/, "INSERT INTO"],
  [/^update/, "UPDATE"],
  [/^delete/, "DELETE FROM"],
];

/** Every piece of SQL that the server sends: literals, and the calls of tables and of the typed client that make SQL. */
export function readSqlSources(): SqlSource[] {
  const root = projectRoot();
  const files = readdirSync(join(root, "server"), { recursive: true, encoding: "utf8" })
    .map((path) => `server/${path.replaceAll("\\", "/")}`)
    .filter(
      (path) =>
        /(?<!\.test|\.d)\.ts$/.test(path) && !/^server\/(testing|api-tests|db\/generated)\//.test(path),
    )
    .sort();
  const parsed = files.map((path) => ({
    path,
    file: ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest, true),
  }));
  const tables = new Map(parsed.flatMap(({ file }) => [...definedTables(file)]));
  const models = readModels(readFileSync(join(root, "prisma", "schema.prisma"), "utf8"));
  return parsed.flatMap(({ path, file }) => sourcesOf(file, path, tables, models));
}

function sourcesOf(
  file: ts.SourceFile,
  path: string,
  tables: ReadonlyMap<string, string>,
  models: ReadonlyMap<string, string>,
): SqlSource[] {
  const found: SqlSource[] = [];
  const add = (node: ts.Node, pattern: RegExp) => {
    found.push({ place: `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`, pattern });
  };
  visit(file, (node) => {
    const parts = literalParts(node);
    if (parts !== undefined && SQL.test(parts.join(" "))) add(node, patternOf(parts));
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { name, expression: of } = node.expression;
    // An array of the same name has a `find` with one argument.
    const table = ts.isIdentifier(of) && node.arguments.length > 1 ? tables.get(of.text) : undefined;
    if (table !== undefined && name.text in TABLE_METHODS) add(node, TABLE_METHODS[name.text]!(table));
    const model = ts.isPropertyAccessExpression(of) ? models.get(of.name.text) : undefined;
    const verb = CLIENT_METHODS.find(([method]) => method.test(name.text))?.[1];
    if (model !== undefined && verb !== undefined) add(node, new RegExp(`${verb} "public"\\."${model}"`));
  });
  return found;
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** The text of a literal, divided where it has placeholders. */
function literalParts(node: ts.Node): string[] | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
}

const patternOf = (parts: readonly string[]): RegExp =>
  new RegExp(
    parts
      .join("\0")
      .trim()
      .split("\0")
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\s+/g, "\\s+"))
      .join("[\\s\\S]*?"),
  );

/** The variable and the name of each `defineTable`. */
function definedTables(file: ts.SourceFile): Map<string, string> {
  const found = new Map<string, string>();
  visit(file, (node) => {
    if (!ts.isVariableDeclaration(node) || !node.initializer || !ts.isCallExpression(node.initializer))
      return;
    const { expression, arguments: given } = node.initializer;
    if (expression.getText() !== "defineTable" || !ts.isStringLiteral(given[0]!)) return;
    found.set(node.name.getText(), given[0].text);
  });
  return found;
}

/** The property of the typed client and the table of each model. */
function readModels(schema: string): Map<string, string> {
  const models = schema.matchAll(/^model (\w)(\w*) \{[\s\S]*?@@map\("(\w+)"\)/gm);
  return new Map([...models].map(([, first, rest, table]) => [first!.toLowerCase() + rest!, table!]));
}
