/** @jsxImportSource #jsx */
import type { AlertView } from "@plimsoll/protocol/api";
import { Bell } from "lucide-react";
import { cn } from "../ui/cn.ts";

/** Marks what alerts are open about. Its name and tooltip say which. */
export function AlertBell({ alerts }: { alerts: readonly AlertView[] }) {
  const names = alerts.map(({ rule }) => rule.name).join(", ");
  const isCritical = alerts.some(({ rule }) => rule.severity === "critical");
  return (
    <span
      role="img"
      aria-label={`Alert: ${names}`}
      title={names}
      className="relative z-10 shrink-0 self-center"
    >
      <Bell aria-hidden className={cn("size-3.5", isCritical ? "text-hard" : "text-warn-ink")} />
    </span>
  );
}
