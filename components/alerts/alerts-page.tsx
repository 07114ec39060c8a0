/** @jsxImportSource #jsx */
"use client";

import { BellRing } from "lucide-react";
import { PageHeader } from "../shell/page-header.tsx";
import { Button } from "../ui/button.tsx";
import { Deliveries } from "./deliveries.tsx";
import { Endpoints } from "./endpoints.tsx";
import { Firing } from "./firing.tsx";
import { Rules } from "./rules.tsx";
import { Silences } from "./silences.tsx";
import { useDesktopAlerts } from "./use-desktop-alerts.ts";

export function AlertsPage() {
  return (
    <>
      <PageHeader title="Alerts">
        <DesktopButton />
      </PageHeader>
      <div className="grid gap-4">
        <Firing />
        <Rules />
        <div className="grid items-start gap-4 xl:grid-cols-2">
          <Endpoints />
          <Silences />
        </div>
        <Deliveries />
      </div>
    </>
  );
}

/** Notifications of the desktop while a page is open. Hidden where the browser has none. */
function DesktopButton() {
  const { state, turn } = useDesktopAlerts();
  if (state === "unsupported") return null;
  return (
    <Button
      aria-pressed={state === "on"}
      onClick={() => void turn(state !== "on")}
      title={
        state === "blocked"
          ? "The browser blocks notifications of this page. Allow them in its settings."
          : "Shows a notification of the desktop when an alert begins while Plimsoll is open in this browser."
      }
    >
      <BellRing aria-hidden />
      {state === "on" ? "Desktop notifications on" : "Desktop notifications"}
    </Button>
  );
}
