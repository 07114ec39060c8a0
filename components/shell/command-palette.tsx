/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Clock, Moon, Search, Waypoints } from "lucide-react";
import { useRouter } from "next/navigation";
import { useTheme } from "next-themes";
import {
  memo,
  type ReactNode,
  useCallback,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useMinute } from "../clock.tsx";
import { compact } from "../format.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { QUICK_RANGES, quickLabel, resolveRange } from "../range.ts";
import { useTRPC } from "../trpc.ts";
import { loadedOverlays } from "../ui/lazy-overlays.ts";
import { Name } from "../ui/name.tsx";
import { Prepared } from "../ui/prepared.tsx";
import { useRange } from "../url.ts";
import { titleOf } from "../words.ts";
import { PAGES, withSharedParams } from "./pages.ts";
import { THEMES } from "./theme-button.tsx";

const ITEM =
  "flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-2 text-[13px] data-[selected=true]:bg-edge/35 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-faint";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint";

interface Props {
  open: boolean;
  onClose: () => void;
  /** Returns the text typed before the input was mounted, and clears it. */
  takeEarly: () => string;
}

/** Finds pages, sessions, time ranges and themes by name. */
export function Palette(props: Props) {
  return (
    <Prepared open={props.open}>
      <PaletteDialog {...props} />
    </Prepared>
  );
}

function PaletteDialog({ open, onClose, takeEarly }: Props) {
  const { Command, Modal } = loadedOverlays();
  const router = useRouter();
  const project = useProject();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState("");
  const hasRows = useIsPainted();
  // The dialog would focus the field too, but select the text typed early.
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    // Not within the update: React may compute one again, and the text is there once.
    const early = takeEarly();
    setText((now) => now + early);
  }, [takeEarly]);

  /** If the selected session no longer matches, select the first row, so that Enter still works. */
  const selectVisibleRow = useCallback(() => {
    requestAnimationFrame(() => {
      const shown = [...document.querySelectorAll("[cmdk-list] [cmdk-item]")].map(
        (row) => row.getAttribute("data-value") ?? "",
      );
      setChosen((now) => (shown.includes(now) ? now : (shown[0] ?? "")));
    });
  }, []);

  const run = useCallback(
    (action: () => void) => {
      onClose();
      action();
    },
    [onClose],
  );

  return (
    <Modal
      open={open}
      onFocus={() => field.current?.focus()}
      onOpenChange={(open) => !open && onClose()}
      label="Search"
      className="w-[min(36rem,calc(100vw-2rem))] overflow-hidden"
    >
      <Command label="Search" loop value={chosen} onValueChange={setChosen}>
        <div className="flex items-center gap-2.5 border-b px-4">
          <Search aria-hidden className="size-4 text-faint" />
          <Command.Input
            ref={field}
            value={text}
            onValueChange={setText}
            placeholder="Search sessions, pages, ranges"
            className="h-12 w-full bg-transparent text-[15px] outline-none placeholder:text-faint"
          />
        </div>
        {hasRows && (
          <>
            {/* Outside the list: a listbox may contain only options. */}
            <Command.Empty className="px-3 py-6 text-center text-[13px] text-muted">No results</Command.Empty>
            <Command.List className="max-h-[50vh] overflow-auto p-1.5">
              <Sessions
                text={text}
                onArrive={setChosen}
                onNone={selectVisibleRow}
                onPick={(id) => run(() => router.push(withProject(`/sessions/${id}`, project)))}
              />
              <FixedGroups run={run} />
            </Command.List>
          </>
        )}
      </Command>
    </Modal>
  );
}

/** What is offered for any text. Memoized, so that a key of the search renders only what depends on it. */
const FixedGroups = memo(function FixedGroups({ run }: { run: (action: () => void) => void }) {
  const { Command } = loadedOverlays();
  const router = useRouter();
  const [, setRange] = useRange();
  const { setTheme } = useTheme();
  return (
    <>
      <Command.Group heading="Pages" className={GROUP}>
        {PAGES.map(({ href, label, icon: Icon, key }) => (
          <Item
            key={href}
            value={`page ${label}`}
            onSelect={() =>
              run(() => router.push(withSharedParams(href, new URLSearchParams(window.location.search))))
            }
            note={<kbd className="font-mono pointer-coarse:hidden">{`g ${key}`}</kbd>}
          >
            <Icon aria-hidden /> {label}
          </Item>
        ))}
      </Command.Group>
      <Command.Group heading="Time range" className={GROUP}>
        {QUICK_RANGES.map((last) => (
          <Item
            key={last}
            value={`range ${quickLabel(last)} ${last}`}
            onSelect={() => run(() => setRange({ last }))}
          >
            <Clock aria-hidden /> {quickLabel(last)}
          </Item>
        ))}
      </Command.Group>
      <Command.Group heading="Theme" className={GROUP}>
        {THEMES.map((theme) => (
          <Item key={theme} value={`theme ${theme}`} onSelect={() => run(() => setTheme(theme))}>
            <Moon aria-hidden /> Theme: {theme}
          </Item>
        ))}
      </Command.Group>
    </>
  );
});

/** True after the first paint: the key that opens the search paints its field, and the rows follow at once. */
function useIsPainted(): boolean {
  const [isPainted, setPainted] = useState(false);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setPainted(true));
    return () => cancelAnimationFrame(frame);
  }, []);
  return isPainted;
}

const itemOf = (id: string) => `session ${id}`;

function Item({
  value,
  keywords,
  onSelect,
  note,
  children,
}: {
  value: string;
  keywords?: string[];
  onSelect: () => void;
  note?: ReactNode;
  children: ReactNode;
}) {
  const { Command } = loadedOverlays();
  return (
    <Command.Item value={value} keywords={keywords} onSelect={onSelect} className={ITEM}>
      {children}
      {note !== undefined && <span className="ml-auto shrink-0 text-xs text-faint">{note}</span>}
    </Command.Item>
  );
}

/** Phones have no room for the unit. */
function Level({ tokens }: { tokens: number }) {
  return (
    <>
      {compact(tokens)} <span className="max-sm:sr-only">tokens</span>
    </>
  );
}

interface SessionsProps {
  text: string;
  /** Called with the value of the best match when results arrive. */
  onArrive: (value: string) => void;
  /** Called when no session matches. */
  onNone: () => void;
  onPick: (id: string) => void;
}

function Sessions({ text, onArrive, onNone, onPick }: SessionsProps) {
  const { Command } = loadedOverlays();
  const trpc = useTRPC();
  const q = useDeferredValue(text.trim());
  const { from, to } = resolveRange({ last: "30d" }, useMinute());
  const { data, isPlaceholderData } = useQuery(
    trpc.sessions.list.queryOptions(
      { from, to, limit: 8, ...(q === "" ? {} : { q }) },
      { placeholderData: (previous) => previous },
    ),
  );
  // Results of the previous text stay visible while loading, but must not be selected.
  const answered = q !== "" && q === text.trim() && data !== undefined && !isPlaceholderData;
  const best = answered ? data.items[0]?.id : undefined;
  useEffect(() => {
    // cmdk selected its first row before the results arrived; select the best match instead.
    if (best !== undefined) onArrive(itemOf(best));
    else if (answered) onNone();
  }, [answered, best, onArrive, onNone]);
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Command.Group heading={q === "" ? "Latest sessions" : "Sessions, last 30 days"} className={GROUP}>
      {data.items.map((row) => (
        <Item
          key={row.id}
          value={itemOf(row.id)}
          // The server also matches IDs and models; the query as a keyword keeps cmdk from filtering those out.
          keywords={[titleOf(row), row.harness, q]}
          onSelect={() => onPick(row.id)}
          note={row.context_tokens === null ? undefined : <Level tokens={row.context_tokens} />}
        >
          <Waypoints aria-hidden />
          <Name className="min-w-0 truncate">{titleOf(row)}</Name>
          <Name className="max-w-2/5 shrink-0 truncate text-xs text-faint">{row.harness}</Name>
        </Item>
      ))}
    </Command.Group>
  );
}
