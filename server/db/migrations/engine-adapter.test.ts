import { describe, expect, it } from "vitest";
import { statementsOf } from "./engine-adapter.ts";

describe("the statements of a script", () => {
  it("end at semicolons outside of strings, names, comments and functions", () => {
    const statements = [
      "SELECT ';' || 'it''s;' || E'\\';' || \";\".x",
      "\n-- a comment; it's one\nDO $$ BEGIN PERFORM 1; END $$",
      " /* another; */ CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $body$ SELECT $$;$$; $body$",
      "\nSELECT $1, 'a'",
    ];
    expect(statementsOf(`${statements.join(";")};\n ;`)).toEqual(statements);
    expect(statementsOf("-- nothing; to do")).toEqual(["-- nothing; to do"]);
    expect(statementsOf("")).toEqual([]);
  });
});
