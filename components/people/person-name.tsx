/** @jsxImportSource #jsx */
"use client";

import { NONE } from "../format.ts";
import { Name } from "../ui/name.tsx";
import { usePeopleNames } from "./use-people-names.ts";

/** The name of a person; a dash for nobody, and for a name that is hidden here. */
export function PersonName({ id }: { id: string | null }) {
  const name = usePeopleNames().get(id ?? "");
  return (
    <Name className="block truncate" title={name}>
      {name ?? NONE}
    </Name>
  );
}
