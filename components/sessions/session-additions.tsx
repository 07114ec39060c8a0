/** @jsxImportSource #jsx */
"use client";

import type { SessionDetail } from "@plimsoll/protocol/api";
import { StickyNote, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { LocalTime } from "../clock.tsx";
import { shortTime } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { authorText } from "../setup/activity-text.ts";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Name } from "../ui/name.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { TagMenu } from "./tag-menu.tsx";
import { useTagging } from "./use-tagging.ts";

const NoteDialog = lazyPart(() => import("./note-dialog.tsx").then(({ NoteDialog }) => NoteDialog));

interface Props {
  detail: Pick<SessionDetail, "session" | "note" | "tag_authors">;
  /** What else is known of the session, before its tags. */
  children: ReactNode;
}

/** Tags and note of a session, with what changes them. */
export function SessionAdditions({ detail, children }: Props) {
  usePreload(NoteDialog.load);
  const { session, note, tag_authors } = detail;
  const addedBy = (tag: string) => {
    const found = tag_authors.find((one) => one.tag === tag);
    const author = found === undefined ? null : authorText(found);
    return author === null ? "" : `. Added by ${author}`;
  };
  const { change } = useTagging();
  const [editing, setEditing] = useState(false);
  return (
    <section aria-label="About the session" className="-mt-2 mb-4">
      <div className="flex flex-wrap items-center gap-1.5">
        {children}
        {session.tags.length > 0 && (
          <ul aria-label="Tags" className="flex min-w-0 flex-wrap gap-1.5">
            {session.tags.map((tag) => (
              <li
                key={tag}
                className="inline-flex h-7 max-w-64 items-center rounded-full border border-rule pl-2.5 text-xs pointer-coarse:h-9"
              >
                <Link
                  href={`/sessions?${new URLSearchParams({ tag, range: "all" })}`}
                  title={`View all sessions tagged ${tag}${addedBy(tag)}`}
                  className="flex min-w-0 hover:underline"
                >
                  <Name className="truncate">{tag}</Name>
                </Link>
                <button
                  type="button"
                  aria-label={`Remove tag ${tag}`}
                  onClick={() => void change({ ids: [session.id], tag, action: "remove" })}
                  className="ml-0.5 inline-flex size-6 shrink-0 items-center justify-center rounded-full text-muted hover:bg-track hover:text-ink pointer-coarse:size-9"
                >
                  <X aria-hidden className="size-3" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <TagMenu ids={[session.id]} rows={[session]} />
        <Button size="small" onClick={() => setEditing(true)}>
          <StickyNote aria-hidden /> {note.note === "" ? "Add note" : "Edit note"}
        </Button>
      </div>
      {note.note !== "" && (
        <div className="mt-2 max-w-prose rounded-lg border border-rule bg-panel px-3 py-2 text-[13px]">
          <ScrollRegion label="Note" className="max-h-40 overflow-auto">
            <p className="whitespace-pre-wrap wrap-anywhere" data-testid="note">
              {note.note}
            </p>
          </ScrollRegion>
          {note.updated_at !== null && (
            <p className="mt-1 text-xs text-faint">
              {note.updated_by}, <LocalTime at={note.updated_at} format={shortTime} />
            </p>
          )}
        </div>
      )}
      {editing && <NoteDialog sessionId={session.id} note={note} onClose={() => setEditing(false)} />}
    </section>
  );
}
