"use client";

import { Modal } from "../ui/dialog.tsx";
import { PAGES } from "./pages.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Search pages, sessions, ranges, theme"],
  ["/", "Go to the search field"],
  ...PAGES.map(({ key, label }) => [`g ${key}`, `Go to ${label}`] as const),
  ["j k or ↓ ↑", "Move through rows"],
  ["Enter", "Open the row"],
  ["← →", "Move along a chart or its markers"],
  ["?", "This help"],
];

export function ShortcutsDialog({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  return (
    <Modal open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-[13px]">
        {KEYS.map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              <Keys text={keys} />
            </dt>
            <dd className="text-muted">{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}

function Keys({ text }: { text: string }) {
  return text.split(" ").map((key, index) =>
    key === "or" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the words of a constant text never move
      <span key={index} className="mr-1 text-faint">
        or
      </span>
    ) : (
      <kbd
        // biome-ignore lint/suspicious/noArrayIndexKey: the words of a constant text never move
        key={index}
        className="mr-1 rounded border border-edge bg-bg px-1.5 py-0.5 font-mono text-xs"
      >
        {key}
      </kbd>
    ),
  );
}
