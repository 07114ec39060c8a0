/** @jsxImportSource #jsx */
"use client";

import type { WindowOffer } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { compact, exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.ts";

const ORIGINS: Readonly<Record<WindowOffer["from"], (origin: string) => string>> = {
  observed: (origin) => `reported in ${origin}`,
  family: (origin) => `size of ${origin}, not proven`,
  catalog: () => "size in the model catalog",
  common: () => "smallest common size above its level",
};
export const originText = ({ from, origin }: WindowOffer) => ORIGINS[from](origin);

/**
 * Sets a window size. It affects utilization, lines and loads on every page.
 * @param undo offered once it is set
 */
export function useSetWindow(onSet: () => void = () => {}, undo?: () => void) {
  const client = useQueryClient();
  return useMutation(
    useTRPC().windows.set.mutationOptions({
      onSuccess: (window) => {
        toast.success(
          `Window of ${window.model} set to ${exact(window.tokens)} tokens.`,
          undo && { action: { label: "Undo", onClick: undo } },
        );
        onSet();
        return client.invalidateQueries();
      },
      onError: (error) => toast.error(`Failed to set the size: ${error.message}`),
    }),
  );
}

/** One click sets a size that is offered for a model. */
export function WindowOffers({ model, offers }: { model: string; offers: readonly WindowOffer[] }) {
  const set = useSetWindow();
  return offers.map((offer) => (
    <Button
      key={offer.tokens}
      size="wrapped"
      disabled={set.isPending}
      onClick={() => set.mutate({ model, tokens: offer.tokens })}
      aria-label={`Set the window of ${model} to ${exact(offer.tokens)} tokens, ${originText(offer)}`}
    >
      <span className="shrink-0 whitespace-nowrap">Use {compact(offer.tokens)}</span>{" "}
      <span className="text-muted">{originText(offer)}</span>
    </Button>
  ));
}
