/** @jsxImportSource #jsx */
"use client";

import type { ProjectView } from "@plimsoll/protocol/api";
import { ChevronsUpDown } from "lucide-react";
import { useState } from "react";
import { cn } from "../ui/cn.ts";
import { CHECKED_ITEM, Menu, MenuItem, MenuRadioGroup, MenuRadioItem, MenuSeparator } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { switchHref } from "./address.ts";
import { CreateProject } from "./create-project.tsx";
import { Link } from "./link.tsx";
import { useProjects } from "./use-projects.ts";

function openProject(id: string): void {
  const { pathname, search } = window.location;
  window.location.assign(switchHref(pathname, new URLSearchParams(search), Number(id)));
}

/** Archived projects go last; their data is looked up, not watched. */
function inMenuOrder(projects: readonly ProjectView[]): ProjectView[] {
  return [...projects].sort((a, b) => Number(a.archived_at !== null) - Number(b.archived_at !== null));
}

/** Names the current project and opens the others. With a single project it is a small button without a name. */
export function ProjectSwitcher({ wide = false }: { wide?: boolean }) {
  const { projects, current } = useProjects();
  const [creating, setCreating] = useState(false);
  if (projects === undefined) return null;
  const several = projects.length > 1;
  const name = current?.name ?? "No such project";
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            data-testid="project-switcher"
            aria-label={several ? `Project: ${name}` : "Projects"}
            title={several ? name : "Projects"}
            className={cn(
              "inline-flex items-center gap-1.5 rounded-[7px] text-[13px] text-muted hover:bg-track hover:text-ink",
              several
                ? "h-8 min-w-0 border border-rule px-2 pointer-coarse:h-10"
                : "size-7 shrink-0 justify-center pointer-coarse:size-10",
              several && wide && "w-full",
            )}
          >
            {several && <Name className="min-w-0 flex-1 truncate text-ink">{name}</Name>}
            <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-faint" />
          </button>
        }
        align="start"
        className="max-h-96 min-w-48"
      >
        {several && (
          <>
            <MenuRadioGroup value={String(current?.id)} onValueChange={openProject}>
              {inMenuOrder(projects).map(({ id, name, archived_at }) => (
                <MenuRadioItem key={id} value={String(id)}>
                  <Name className="min-w-0 wrap-anywhere">{name}</Name>
                  {archived_at !== null && <span className="ml-auto text-xs text-muted">archived</span>}
                </MenuRadioItem>
              ))}
            </MenuRadioGroup>
            <MenuSeparator />
          </>
        )}
        <MenuItem className={CHECKED_ITEM} onSelect={() => setCreating(true)}>
          New project
        </MenuItem>
        {several && (
          <MenuItem className={CHECKED_ITEM} asChild>
            <Link href="/setup#projects">Manage projects</Link>
          </MenuItem>
        )}
      </Menu>
      {creating && <CreateProject onClose={() => setCreating(false)} />}
    </>
  );
}
