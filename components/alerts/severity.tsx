/** @jsxImportSource #jsx */
import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import { Bell, Info, TriangleAlert } from "lucide-react";
import { cn } from "../ui/cn.ts";
import { SEVERITY_TEXT } from "./alert-text.ts";

const LOOKS = {
  critical: { icon: TriangleAlert, look: "text-hard" },
  warning: { icon: Bell, look: "text-warn-ink" },
  info: { icon: Info, look: "text-muted" },
} as const;

/** Told apart by the icon and the word, not by the colour alone. */
export function Severity({ severity }: { severity: AlertSeverity }) {
  const { icon: Icon, look } = LOOKS[severity];
  return (
    <span className={cn("inline-flex items-center gap-1 text-xs font-medium", look)}>
      <Icon aria-hidden className="size-3.5 shrink-0" />
      {SEVERITY_TEXT[severity]}
    </span>
  );
}
