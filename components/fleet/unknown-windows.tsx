/** @jsxImportSource #jsx */
"use client";

import type { UnknownWindows } from "@plimsoll/protocol/api";
import { exact, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { WindowOffers } from "../setup/window-offers.tsx";
import { unknownAbout } from "./dismissals.ts";
import { Notice } from "./notice.tsx";

/** Models that the notice names. */
const MOST_NAMED = 3;

/** Names the models without a window size, and sets one at a click. */
export function UnknownWindowsNotice({ unknown }: { unknown: UnknownWindows }) {
  const { models, more_models, turns, turns_in_range } = unknown;
  const named = models.slice(0, MOST_NAMED);
  const more = models.length + more_models - named.length;
  const [first] = named;
  return (
    <Notice
      testid="unknown-windows"
      label="Unknown window sizes"
      about={unknownAbout(unknown)}
      summary={
        <>
          Window unknown for {plural(models.length + more_models, "model")}
          {turns_in_range > 0 && `, ${percent(Math.min(1, turns / turns_in_range))} of turns`}
          {named.length === 1 && `: ${first!.model}`}
        </>
      }
      action={
        first !== undefined &&
        first.offers.length > 0 && <WindowOffers model={first.model} offers={first.offers.slice(0, 1)} />
      }
    >
      <ul>
        {named.map(({ model, offers }, index) => (
          <li key={model} className="mt-1 flex flex-wrap items-center gap-1.5">
            <span className="wrap-anywhere">{model}</span>
            <WindowOffers model={model} offers={index === 0 ? offers.slice(1) : offers} />
            <Link
              href={`/setup?model=${encodeURIComponent(model)}#windows`}
              aria-label={`Set the window of ${model} in Setup`}
              className="text-accent underline underline-offset-2"
            >
              {offers.length === 0 ? "Set the size" : "Another size"}
            </Link>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <Link href="/setup#windows" className="mt-1.5 inline-block text-accent underline underline-offset-2">
          {exact(more)} more
        </Link>
      )}
    </Notice>
  );
}
