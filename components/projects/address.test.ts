import type { ProjectView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { currentProject, projectOf, switchHref, withProject } from "./address.ts";

describe("projectOf", () => {
  it("is null for the default project, however it is written", () => {
    for (const query of ["", "project=", "project=1", "range=7d"])
      expect(projectOf(new URLSearchParams(query)), query).toBeNull();
    expect(projectOf(new URLSearchParams("range=7d&project=2"))).toBe("2");
    expect(projectOf(new URLSearchParams("project=billing"))).toBe("billing");
  });
});

describe("withProject", () => {
  it("adds the project to the query, before the fragment", () => {
    expect(withProject("/", "2")).toBe("/?project=2");
    expect(withProject("/sessions/x?agent=y", "2")).toBe("/sessions/x?agent=y&project=2");
    expect(withProject("/setup?model=a%2Fb#windows", "2")).toBe("/setup?model=a%2Fb&project=2#windows");
    expect(withProject("/?project=3", "2")).toBe("/?project=2");
  });

  it("changes nothing for the default project", () => {
    expect(withProject("/setup?model=x#windows", null)).toBe("/setup?model=x#windows");
  });
});

describe("switchHref", () => {
  const params = new URLSearchParams("range=7d&harness=phantom&project=3");

  it("stays on a page that every project has, with its range", () => {
    expect(switchHref("/setup", params, 2)).toBe("/setup?range=7d&project=2");
    expect(switchHref("/", new URLSearchParams(), 2)).toBe("/?project=2");
  });

  it("leaves a session for the list of sessions", () => {
    expect(switchHref("/sessions/abc", params, 2)).toBe("/sessions?range=7d&project=2");
  });

  it("names no project for the default one", () => {
    expect(switchHref("/", params, 1)).toBe("/?range=7d");
  });
});

describe("currentProject", () => {
  const project = (id: number, name: string): ProjectView => ({
    id,
    name,
    is_default: id === 1,
    created_at: "2026-11-22T08:00:00.000Z",
    archived_at: null,
    hides_names: false,
  });
  const projects = [project(1, "default"), project(2, "billing")];

  it("is found by id and name", () => {
    expect(currentProject(projects, null)?.id).toBe(1);
    expect(currentProject(projects, "2")?.id).toBe(2);
    expect(currentProject(projects, "billing")?.id).toBe(2);
    expect(currentProject(projects, "3")).toBeUndefined();
  });

  it("is the oldest project of a person who has no role in the default one", () => {
    const others = [{ ...projects[1]!, id: 7 }, projects[1]!];
    expect(currentProject(others, null)?.id).toBe(2);
    expect(currentProject([], null)).toBeUndefined();
  });
});
