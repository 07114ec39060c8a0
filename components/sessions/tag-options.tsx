/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Check, Minus, Plus } from "lucide-react";
import { useState } from "react";
import { useTRPC } from "../trpc.ts";
import { loadedOverlays } from "../ui/lazy-overlays.ts";
import { Name } from "../ui/name.tsx";
import type { Tagged } from "./tag-menu.tsx";
import { useTagging } from "./use-tagging.ts";

const ITEM =
  "relative flex cursor-pointer items-center gap-2 rounded-md py-1.5 pr-2 pl-7 data-[selected=true]:bg-edge/35 pointer-coarse:py-2.5";
const ICON = "absolute left-2 size-3.5 text-accent";

/** Adds a tag to all sessions, or removes it if all of them have it. */
export function TagOptions({ ids, rows }: { ids: readonly string[]; rows: readonly Tagged[] }) {
  const { Command } = loadedOverlays();
  const trpc = useTRPC();
  const { data } = useQuery(trpc.sessions.values.queryOptions());
  const { change, isPending } = useTagging();
  const [text, setText] = useState("");
  const selected = rows.filter(({ id }) => ids.includes(id));
  const counts = new Map((data?.tags ?? []).map(({ tag }) => [tag, 0]));
  for (const { tags } of selected) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const wanted = text.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase();
  const isNew = wanted !== "" && !counts.has(wanted);

  function pick(tag: string) {
    const action = counts.get(tag) === ids.length ? "remove" : "add";
    setText("");
    void change({ ids: [...ids], tag, action });
  }
  return (
    <Command label="Tags" loop>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="Find or create a tag"
        maxLength={50}
        className="mb-1 h-9 w-full border-b bg-transparent px-2.5 outline-none placeholder:text-faint"
      />
      <Command.List className="max-h-72 overflow-auto" aria-busy={isPending}>
        {wanted === "" && counts.size === 0 && (
          <p className="px-2.5 py-3 text-muted">No tags yet. Type a name to create one.</p>
        )}
        {[...counts].map(([tag, count]) => (
          <Command.Item key={tag} value={tag} onSelect={() => pick(tag)} className={ITEM}>
            {count > 0 &&
              (count === ids.length ? (
                <Check aria-label="on all" className={ICON} />
              ) : (
                <Minus aria-label="on some" className={ICON} />
              ))}
            <Name className="min-w-0 truncate" title={tag}>
              {tag}
            </Name>
          </Command.Item>
        ))}
        {isNew && (
          <Command.Item value={`create ${wanted}`} forceMount onSelect={() => pick(wanted)} className={ITEM}>
            <Plus aria-hidden className={ICON} />
            <span className="min-w-0 wrap-anywhere">Create tag “{wanted}”</span>
          </Command.Item>
        )}
      </Command.List>
    </Command>
  );
}
