import { useSyncExternalStore } from "react";
import { toast } from "../ui/toast.ts";

const KEY = "plimsoll.desktop-alerts";
const CHANGED = "plimsoll:desktop-alerts";

/** Whether this browser shows notifications of the desktop. `blocked`: the browser refuses them. */
export type DesktopAlertsState = "unsupported" | "blocked" | "off" | "on";

function stateNow(): DesktopAlertsState {
  if (typeof Notification === "undefined" || !window.isSecureContext) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  try {
    const wanted = window.localStorage.getItem(KEY) === "on";
    return wanted && Notification.permission === "granted" ? "on" : "off";
  } catch {
    return "unsupported";
  }
}

function subscribe(changed: () => void): () => void {
  window.addEventListener(CHANGED, changed);
  window.addEventListener("storage", changed);
  return () => {
    window.removeEventListener(CHANGED, changed);
    window.removeEventListener("storage", changed);
  };
}

/** Notifications of the desktop, chosen for this browser. */
export function useDesktopAlerts() {
  const state = useSyncExternalStore(subscribe, stateNow, (): DesktopAlertsState => "unsupported");
  return {
    state,
    /** Asks the browser for its permission, if it has not been asked. */
    async turn(on: boolean): Promise<void> {
      if (on && (await Notification.requestPermission()) !== "granted") {
        toast.error("The browser blocks notifications of this page. Allow them in its settings.");
      } else {
        window.localStorage.setItem(KEY, on ? "on" : "off");
      }
      window.dispatchEvent(new Event(CHANGED));
    },
  };
}
