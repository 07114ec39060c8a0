/** @jsxImportSource #jsx */
"use client";

import { Modal } from "../ui/dialog.tsx";
import { Prepared } from "../ui/prepared.tsx";
import { PAGES } from "./pages.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Open search"],
  ["/", "Focus the search field"],
  ...PAGES.map(({ key, label }) => [`g ${key}`, `Go to ${label}`] as const),
  ["j k or ↓ ↑", "Move between rows"],
  ["Enter", "Open the focused row"],
  ["← →", "Move along a chart"],
  ["t", "Go to a time"],
  ["?", "Show this help"],
];

export function ShortcutsDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Prepared open={open}>
      <Modal open={open} onOpenChange={(open) => !open && onClose()} title="Keyboard shortcuts">
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-[13px]">
          {KEYS.map(([keys, what]) => (
            <div key={keys} className="contents">
              <dt>
                <KeyCombination text={keys} />
              </dt>
              <dd className="text-muted">{what}</dd>
            </div>
          ))}
        </dl>
      </Modal>
    </Prepared>
  );
}

function KeyCombination({ text }: { text: string }) {
  return text.split(" ").map((key, index) =>
    key === "or" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text is constant
      <span key={index} className="mr-1 text-faint">
        or
      </span>
    ) : (
      <kbd
        // biome-ignore lint/suspicious/noArrayIndexKey: the text is constant
        key={index}
        className="mr-1 rounded border border-edge bg-bg px-1.5 py-0.5 font-mono text-xs"
      >
        {key}
      </kbd>
    ),
  );
}
