/** @jsxImportSource #jsx */
"use client";

import { familyDefaults } from "@plimsoll/harnesses/lines";
import { resolveForHarness } from "@plimsoll/protocol/policy";
import { THRESHOLD_NAMES, type Thresholds } from "@plimsoll/protocol/pure";
import { useState } from "react";
import { SelectMenu } from "../ui/select-menu.tsx";
import { Term } from "../ui/term.tsx";
import { clashesOf } from "./clashes.ts";
import { LoadLine } from "./load-line.tsx";
import { subjectOf } from "./scope.ts";
import type { EditedScope } from "./scope-key.ts";
import type { Draft } from "./use-draft.ts";

const WINDOWS = [
  { value: "128000", label: "128k window" },
  { value: "200000", label: "200k window" },
  { value: "400000", label: "400k window" },
  { value: "1000000", label: "1M window" },
] as const;

/** Where the thresholds of a scope stand in a window, with what it leaves open. */
export function LinePreview({ draft, scope }: { draft: Draft; scope: EditedScope }) {
  const [window, setWindow] = useState<(typeof WINDOWS)[number]["value"]>("200000");
  const subject = subjectOf(scope);
  const { settings } = resolveForHarness(draft.shown, subject, familyDefaults(subject.harness));
  const thresholds = Object.fromEntries(
    THRESHOLD_NAMES.map((name) => [name, settings.thresholds?.[name] ?? null]),
  ) as Thresholds;
  return (
    <div className="mt-4">
      <div className="flex items-center justify-between gap-2">
        <h2 className="text-[13px] font-medium">
          Where the <Term word="line">lines</Term> are
        </h2>
        <SelectMenu name="Window" value={window} options={WINDOWS} onChange={setWindow} />
      </div>
      <LoadLine thresholds={thresholds} window={Number(window)} />
      {clashesOf(draft.shown, scope, Number(window)).map((clash) => (
        <p key={clash} role="status" className="mt-2 text-[13px] text-warn-ink">
          {clash}
        </p>
      ))}
    </div>
  );
}
