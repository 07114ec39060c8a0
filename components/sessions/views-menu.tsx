/** @jsxImportSource #jsx */
"use client";

import type { SavedSessionView } from "@plimsoll/protocol/api";
import { Bookmark, Check, ChevronDown, Star } from "lucide-react";
import { useRouter, useSearchParams } from "next/navigation";
import { useState } from "react";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { authorText } from "../setup/activity-text.ts";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { CHECKED_ITEM, Menu, MenuItem, MenuSeparator } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { DEFAULT_COLUMNS, serializeColumns } from "./column-choice.ts";
import { useSavedViews } from "./use-saved-views.ts";
import { useColumns, useSessionFilters } from "./use-session-filters.ts";
import { ALL_SESSIONS_HREF, viewHref, viewQuery } from "./view-query.ts";

const ViewDialog = lazyPart(() => import("./view-dialog.tsx").then(({ ViewDialog }) => ViewDialog));

/** Opens, saves and manages views of the list. */
export function ViewsMenu() {
  usePreload(ViewDialog.load);
  const router = useRouter();
  const project = useProject();
  const [filters, setFilters] = useSessionFilters();
  const params = useSearchParams();
  const query = viewQuery(params);
  const [columns] = useColumns();
  const { views, makeDefault, update, remove } = useSavedViews();
  const [naming, setNaming] = useState<"new" | "rename">();
  const current = views.find(({ id }) => id === filters.view);
  const isChanged = current !== undefined && viewQuery(new URLSearchParams(current.query)) !== query;
  const open = (href: string) => router.push(withProject(href, project), { scroll: false });
  const label = current === undefined ? "Views" : `${current.name}${isChanged ? " (changed)" : ""}`;

  /** What a new view holds: also the columns that this browser shows. */
  function wholeQuery(): string {
    const whole = new URLSearchParams(params.toString());
    if (columns !== DEFAULT_COLUMNS) whole.set("columns", serializeColumns(columns));
    return viewQuery(whole);
  }
  function saved(view: SavedSessionView) {
    setNaming(undefined);
    const named = new URLSearchParams(view.query).get("columns");
    void setFilters({ view: view.id, ...(naming === "new" && { columns: named }) });
  }
  function removeCurrent(view: SavedSessionView) {
    remove(view);
    void setFilters({ view: null });
  }
  return (
    <>
      <Menu
        trigger={
          <Button aria-label={current === undefined ? "Views" : `View: ${label}`}>
            <Bookmark aria-hidden className="text-faint" />
            <span className="max-w-40 truncate">{label}</span>
            <ChevronDown aria-hidden className="text-faint" />
          </Button>
        }
        align="start"
        className="max-h-96 min-w-56"
      >
        <MenuItem className={CHECKED_ITEM} onSelect={() => open(ALL_SESSIONS_HREF)}>
          All sessions
        </MenuItem>
        {views.map((view) => (
          <MenuItem
            key={view.id}
            className={CHECKED_ITEM}
            onSelect={() => open(viewHref(view))}
            aria-current={view.id === current?.id}
            title={view.actor === null ? undefined : `Saved by ${authorText(view)}`}
          >
            {view.id === current?.id && (
              <Check aria-hidden className="absolute left-2 size-3.5 text-accent" />
            )}
            <Name className="min-w-0 wrap-anywhere">{view.name}</Name>
            {view.is_default && <Star aria-label="opens first" className="ml-auto size-3.5 text-faint" />}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem onSelect={() => setNaming("new")}>Save as new view…</MenuItem>
        {current !== undefined && (
          <>
            {isChanged && <MenuItem onSelect={() => update(current, query)}>Save changes</MenuItem>}
            <MenuItem onSelect={() => setNaming("rename")}>Rename…</MenuItem>
            <MenuItem onSelect={() => makeDefault(current, !current.is_default)}>
              {current.is_default ? "Do not open first" : "Open first"}
            </MenuItem>
            <MenuItem onSelect={() => removeCurrent(current)}>Delete view</MenuItem>
          </>
        )}
      </Menu>
      {naming !== undefined && (
        <ViewDialog
          view={naming === "rename" ? current : undefined}
          query={wholeQuery()}
          onSaved={saved}
          onClose={() => setNaming(undefined)}
        />
      )}
    </>
  );
}
