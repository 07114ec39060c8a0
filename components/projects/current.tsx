/** @jsxImportSource #jsx */
"use client";

import { PROJECT_HEADER, PROJECT_PARAMETER } from "@plimsoll/protocol/pure";
import { createParser, useQueryState } from "nuqs";
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { projectOf, withProject } from "./address.ts";

/**
 * The project that this document was loaded for. Switching projects loads a new document, so no cached answer and no
 * live connection of one project outlives the switch.
 */
const LOADED = typeof window === "undefined" ? null : projectOf(new URLSearchParams(window.location.search));

/** For every request about one project. */
export function projectHeaders(): Record<string, string> {
  return LOADED === null ? {} : { [PROJECT_HEADER]: encodeURIComponent(LOADED) };
}

/** The URL of a request that cannot carry headers: an event stream, a download. */
export function projectUrl(url: string): string {
  return withProject(url, LOADED);
}

const projectName = createParser<string>({
  parse: (text) => projectOf(new URLSearchParams([[PROJECT_PARAMETER, text]])),
  serialize: (name) => name,
});

const Project = createContext<string | null>(null);

/** The project in the URL, by id or name; null for the default project. */
export function useProject(): string | null {
  return useContext(Project);
}

export function ProjectProvider({ children }: { children: ReactNode }) {
  const [project] = useQueryState(PROJECT_PARAMETER, projectName);
  useEffect(() => {
    // A URL that somebody changed by hand, without loading it.
    if (project !== LOADED) window.location.reload();
  }, [project]);
  return <Project value={project}>{children}</Project>;
}
