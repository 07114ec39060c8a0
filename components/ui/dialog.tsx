"use client";

import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

interface Props {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

export function Modal({ open, onOpenChange, title, description, children }: Props) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          className="fixed top-[12vh] left-1/2 z-50 max-h-[76vh] w-[min(34rem,calc(100vw-2rem))] -translate-x-1/2 overflow-auto rounded-xl border border-edge bg-raised p-5 shadow-2xl"
        >
          <div className="mb-3 flex items-start justify-between gap-4">
            <div className="min-w-0 wrap-anywhere">
              <Dialog.Title className="text-[15px] font-semibold">{title}</Dialog.Title>
              {description !== undefined && (
                <Dialog.Description className="mt-1 text-[13px] text-muted">{description}</Dialog.Description>
              )}
            </div>
            <Dialog.Close asChild>
              <Button look="ghost" size="icon" aria-label="Close" className="-mt-1.5 -mr-1.5">
                <X aria-hidden />
              </Button>
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
