/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { SelectMenu } from "../ui/select-menu.tsx";
import { usePlace } from "../url.ts";

const ALL = "";

/** Menus of machines and repositories. Each is there once sessions name one. */
export function PlaceFilters() {
  const [{ machine, repository, branch }, setPlace] = usePlace();
  const { data } = useQuery(useTRPC().sessions.values.queryOptions());
  return (
    <>
      <PlaceMenu
        name="Machine"
        all="All machines"
        known={data?.machines}
        value={machine}
        onChange={(next) => void setPlace({ machine: next })}
      />
      <PlaceMenu
        name="Repository"
        all="All repositories"
        known={data?.repositories}
        value={repository}
        onChange={(next) => void setPlace({ repository: next, branch: null })}
      />
      {/* A link may name a branch, and then this takes it away. */}
      <PlaceMenu
        name="Branch"
        all="All branches"
        known={[]}
        value={branch}
        onChange={(next) => void setPlace({ branch: next })}
      />
    </>
  );
}

interface Props {
  name: string;
  /** Stands for no filter. */
  all: string;
  known: readonly string[] | undefined;
  value: string | null;
  onChange: (value: string | null) => void;
}

function PlaceMenu({ name, all, known, value, onChange }: Props) {
  const names = new Set(known);
  // A shared link may name one that this server does not know.
  if (value !== null) names.add(value);
  if (names.size === 0) return null;
  const options = [
    { value: ALL, label: all },
    ...[...names].sort().map((one) => ({ value: one, label: one })),
  ];
  return (
    <SelectMenu
      name={name}
      value={value ?? ALL}
      options={options}
      onChange={(next) => onChange(next === ALL ? null : next)}
    />
  );
}
