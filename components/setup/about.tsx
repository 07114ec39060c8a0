/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { NotLoaded } from "../ui/states.tsx";
import { Section } from "./section.tsx";

/** What runs here, and where its interface is described. */
export function About() {
  const query = useQuery(useTRPC().instance.queryOptions());
  return (
    <Section id="about" title="This server">
      {query.data === undefined ? (
        <NotLoaded query={query} what="the version" className="h-10" />
      ) : (
        <p className="text-[13px] text-muted" data-testid="about">
          Plimsoll {query.data.version},{" "}
          {query.data.database === "embedded" ? "embedded database" : "external database"}.{" "}
          <a href="/openapi.json" className="text-accent underline underline-offset-2">
            Description of the HTTP interface (OpenAPI)
          </a>
        </p>
      )}
    </Section>
  );
}
