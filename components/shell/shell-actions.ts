"use client";

import { createContext, useContext } from "react";

/** Actions of the shell that any component can trigger. */
export interface ShellActions {
  openSearch: () => void;
  openHelp: () => void;
  openTime: () => void;
}

export const Actions = createContext<ShellActions>({
  openSearch: () => {},
  openHelp: () => {},
  openTime: () => {},
});

export function useShellActions(): ShellActions {
  return useContext(Actions);
}
