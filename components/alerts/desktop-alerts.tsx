/** @jsxImportSource #jsx */
"use client";

import { visibleText } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { useTRPC } from "../trpc.ts";
import { type DesktopNotice, desktopNotices } from "./desktop-notices.ts";

const MOST_READ = 500;

/** Shows a notification of the desktop for each alert that begins while the page is open. Draws nothing itself. */
export function DesktopAlerts() {
  const { data } = useQuery(useTRPC().alerts.list.queryOptions({ limit: MOST_READ }));
  const project = useProject();
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (data === undefined) return;
    for (const notice of desktopNotices(known.current, data.items))
      show(notice, withProject(notice.path, project));
    known.current = new Set(data.items.map(({ id }) => id));
  }, [data, project]);
  return null;
}

function show({ title, body, tag }: DesktopNotice, href: string): void {
  // Tabs of the same browser show a tag once.
  const notification = new Notification(visibleText(title), {
    body: visibleText(body),
    tag,
    icon: "/icon.svg",
  });
  notification.onclick = () => {
    window.focus();
    window.location.assign(href);
    notification.close();
  };
}
