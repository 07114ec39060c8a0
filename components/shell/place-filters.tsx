/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { usePeopleNames } from "../people/use-people-names.ts";
import { useTRPC } from "../trpc.ts";
import { SelectMenu } from "../ui/select-menu.tsx";
import { usePlace } from "../url.ts";

const ALL = "";

/** Menus of machines, repositories and people. Each is there once there is one. */
export function PlaceFilters() {
  const [{ machine, repository, branch, person }, setPlace] = usePlace();
  const people = usePeopleNames();
  const { data } = useQuery(useTRPC().sessions.values.queryOptions());
  return (
    <>
      <PlaceMenu
        name="Person"
        all="Everybody"
        known={[...people.keys()]}
        labels={people}
        value={person}
        onChange={(next) => void setPlace({ person: next })}
      />
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
  /** Of values that are no names. */
  labels?: ReadonlyMap<string, string>;
  value: string | null;
  onChange: (value: string | null) => void;
}

function PlaceMenu({ name, all, known, labels, value, onChange }: Props) {
  const names = new Set(known);
  // A shared link may name one that this server does not know.
  if (value !== null) names.add(value);
  if (names.size === 0) return null;
  const labelOf = (one: string) => (labels === undefined ? one : (labels.get(one) ?? "somebody"));
  const options = [
    { value: ALL, label: all },
    ...[...names]
      .map((one) => ({ value: one, label: labelOf(one) }))
      .sort((a, b) => (a.label < b.label ? -1 : 1)),
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
