/** @jsxImportSource #jsx */
"use client";

import type { SessionSummary } from "@plimsoll/protocol/api";
import { EllipsisVertical, Trash2 } from "lucide-react";
import { useRouter } from "next/navigation";
import type { ComponentProps } from "react";
import { useDeletion } from "../deletion/use-deletion.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { Button } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";

interface Props extends Pick<ComponentProps<typeof Button>, "className" | "look"> {
  session: Pick<SessionSummary, "id" | "status">;
}

/** What can be done with a session as a whole. */
export function SessionMenu({ session, ...button }: Props) {
  const router = useRouter();
  const project = useProject();
  const deletion = useDeletion();
  function remove() {
    // First: the page of a deleted session has nothing to show.
    router.push(withProject("/sessions", project));
    deletion.sessions.mutate({ ids: [session.id] });
  }
  return (
    <Menu
      trigger={
        <Button size="icon" aria-label="More actions" title="More actions" {...button}>
          <EllipsisVertical aria-hidden />
        </Button>
      }
      align="end"
    >
      <MenuItem
        className="flex items-center gap-2 text-hard"
        disabled={deletion.sessions.isPending}
        onSelect={remove}
      >
        <Trash2 aria-hidden className="size-3.5" /> Delete session
      </MenuItem>
      {session.status === "live" && (
        <p className="max-w-60 px-3 pb-1.5 text-xs text-muted">
          The harness still runs. Its next turn starts the session again.
        </p>
      )}
    </Menu>
  );
}
