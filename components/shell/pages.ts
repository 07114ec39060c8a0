import { ListTree, type LucideIcon, SlidersHorizontal, Waves } from "lucide-react";

export interface Page {
  href: string;
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
}

/** What the navigation, the palette and the `g` shortcuts offer, in this order. */
export const PAGES: readonly Page[] = [
  { href: "/", label: "Fleet", icon: Waves, key: "f" },
  { href: "/sessions", label: "Sessions", icon: ListTree, key: "s" },
  { href: "/setup", label: "Setup", icon: SlidersHorizontal, key: "u" },
];
