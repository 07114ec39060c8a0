"use client";

import { useQueryStates } from "nuqs";
import { sessionFilters } from "./filters.ts";

export function useSessionFilters() {
  return useQueryStates(sessionFilters);
}
