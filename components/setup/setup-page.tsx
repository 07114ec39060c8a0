/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";
import { PageHeader } from "../shell/page-header.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { useTRPC } from "../trpc.ts";
import { Activity } from "./activity.tsx";
import { Browsers } from "./browsers.tsx";
import { DemoFleet } from "./demo-fleet.tsx";
import { Doctor } from "./doctor.tsx";
import { Harnesses } from "./harnesses.tsx";
import { Ingestion } from "./ingestion.tsx";
import { Keys } from "./keys.tsx";
import { ModelWindows } from "./model-windows.tsx";
import { Projects } from "./projects.tsx";
import { Retention } from "./retention.tsx";
import { SendTurns } from "./send-turns.tsx";

export function SetupPage() {
  const [secret, setSecret] = useState<string>();
  const [requestedModel] = useQueryState("model", parseAsString);
  const instance = useQuery(useTRPC().instance.queryOptions());
  return (
    <>
      <PageHeader title="Setup">
        <RangePicker />
      </PageHeader>
      <div
        data-wide
        className="grid items-start gap-4 min-[1280px]:max-[1900px]:grid-cols-2 min-[1900px]:grid-cols-3"
      >
        <div className="grid min-w-0 gap-4">
          <SendTurns secret={secret} />
          <DemoFleet />
          <Harnesses />
          <Keys onCreated={setSecret} />
        </div>
        <div className="grid min-w-0 gap-4">
          <ModelWindows key={requestedModel} requestedModel={requestedModel} />
          <Projects />
          <Retention />
          <Ingestion />
          <Doctor />
          <Browsers />
        </div>
        <div className="min-w-0 min-[1280px]:max-[1900px]:col-span-2">
          <Activity />
        </div>
      </div>
      <p className="mt-4 min-h-5 text-xs text-faint">
        {instance.data !== undefined &&
          `Plimsoll ${instance.data.version}, ${instance.data.database === "embedded" ? "embedded database" : "external database"}`}
      </p>
    </>
  );
}
