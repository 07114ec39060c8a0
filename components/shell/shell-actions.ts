"use client";

import { createContext, useContext } from "react";

/** What any part of a page may ask of the frame around it. */
export interface ShellActions {
  openSearch: () => void;
  openHelp: () => void;
}

export const Actions = createContext<ShellActions>({ openSearch: () => {}, openHelp: () => {} });

export function useShellActions(): ShellActions {
  return useContext(Actions);
}
