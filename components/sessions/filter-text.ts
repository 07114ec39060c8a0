import { boundaryName } from "../words.ts";
import { CHOOSING, type ChoosingFilter, type SessionFilters } from "./filters.ts";

const NAMES: Readonly<Record<ChoosingFilter, string>> = {
  q: "Text",
  kind: "Kind",
  status: "Status",
  model: "Model",
  machine: "Machine",
  repository: "Repository",
  branch: "Branch",
  person: "Person",
  reason: "Fell by",
  warned: "Past warning",
  tag: "Tag",
};

export interface FilterChip {
  /** `harness`, or a filter of the list. */
  id: ChoosingFilter | "harness";
  name: string;
  /** Absent for a filter that is on or off. */
  value: string | undefined;
}

/**
 * The filters in force, in the order in which they are shown. The text is in the search field.
 * @param people names by id
 */
export function filterChips(
  filters: Pick<SessionFilters, ChoosingFilter>,
  harness: string | null,
  people: ReadonlyMap<string, string> = new Map(),
): FilterChip[] {
  const chips: FilterChip[] = harness === null ? [] : [{ id: "harness", name: "Harness", value: harness }];
  for (const id of CHOOSING) {
    const value = filters[id];
    if (id === "q" || value === null) continue;
    const text = id === "person" ? (people.get(value) ?? "somebody") : valueText(id, value);
    chips.push({ id, name: NAMES[id], value: id === "warned" ? undefined : text });
  }
  return chips;
}

function valueText(id: ChoosingFilter, value: string): string {
  return id === "reason" ? boundaryName(value) : value;
}
