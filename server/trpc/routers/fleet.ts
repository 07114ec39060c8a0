import {
  BeforeAfter,
  BeforeAfterQuery,
  Breakdown,
  BreakdownQuery,
  Budget,
  ContentsQuery,
  Digest,
  DigestQuery,
  Extent,
  ExtentQuery,
  Falls,
  FallsQuery,
  FleetMarks,
  FleetPart,
  FleetPartQuery,
  FleetQuery,
  FleetStatus,
  FleetView,
  HarnessLinesQuery,
  HarnessList,
  ObservedHarnessLines,
  QualityQuery,
  QualityView,
  QuotaList,
  Rebuilds,
  Series,
  SeriesQuery,
  Spending,
  SpendingQuery,
  StatusQuery,
  WindowContentsView,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { readBeforeAfter } from "../../read/before-after.ts";
import { readBreakdown } from "../../read/breakdown.ts";
import { readContents } from "../../read/contents.ts";
import { readDigest } from "../../read/digest.ts";
import { readExtent } from "../../read/extent.ts";
import { readFalls } from "../../read/falls.ts";
import { readFleet, readFleetPart } from "../../read/fleet.ts";
import { readHarnessLines } from "../../read/harness-lines.ts";
import { readHarnesses } from "../../read/harnesses.ts";
import { readMarks } from "../../read/marks.ts";
import { readQuality } from "../../read/quality.ts";
import { readQuota } from "../../read/quota.ts";
import { readRebuilds } from "../../read/rebuilds.ts";
import { readSeries } from "../../read/series.ts";
import { readSpending } from "../../read/spending.ts";
import { readStatus } from "../../read/status.ts";
import { actorOf } from "../../tenants/access/principal.ts";
import { answer, freshProcedure, procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("metrics");

export const status = freshProcedure("read")
  .meta(rest("GET", "/status", "Fleet totals over a range, beside the period before it"))
  .input(StatusQuery)
  .output(answer(FleetStatus))
  .query(({ ctx, input }) => ctx.shared(input, () => readStatus(ctx.reader, input)));

export const fleet = freshProcedure("read")
  .meta(rest("GET", "/fleet", "Every live agent against its own lines, sorted by load"))
  .input(FleetQuery)
  .output(answer(FleetView))
  .query(({ ctx, input }) => ctx.shared(input, () => readFleet(ctx.reader, input)));

/** For an open page: after a change it asks for the rows that changed, not for the whole fleet. */
export const fleetPart = freshProcedure("read")
  .input(FleetPartQuery)
  .output(answer(FleetPart))
  .query(({ ctx, input }) => ctx.shared(input, () => readFleetPart(ctx.reader, input)));

export const quota = freshProcedure("read")
  .meta(rest("GET", "/quota", "How much of each limit of the accounts is used, and when it is used up"))
  .input(z.object({}).optional())
  .output(answer(QuotaList))
  .query(({ ctx, input }) => ctx.shared(input, () => readQuota(ctx.reader)));

export const series = freshProcedure("read")
  .meta(rest("GET", "/series", "A metric over time"))
  .input(SeriesQuery)
  .output(answer(Series))
  .query(({ ctx, input }) => ctx.shared(input, () => readSeries(ctx.reader, input)));

export const extent = procedure("read")
  .meta(rest("GET", "/extent", "How far back the recorded history goes"))
  .input(ExtentQuery.optional())
  .output(answer(Extent))
  .query(({ ctx, input }) => readExtent(ctx.reader, input ?? {}));

/** For the charts of a page. */
export const marks = procedure("read")
  .input(StatusQuery)
  .output(FleetMarks)
  .query(({ ctx, input }) => readMarks(ctx.reader, input));

/** For a mark that somebody chose. */
export const beforeAfter = freshProcedure("read")
  .input(BeforeAfterQuery)
  .output(answer(BeforeAfter))
  .query(({ ctx, input }) => ctx.shared(input, () => readBeforeAfter(ctx.reader, input)));

export const digest = freshProcedure("read")
  .meta(rest("GET", "/digest", "What happened in a range: alerts, falls without a cause, restarts, ends"))
  .input(DigestQuery)
  .output(answer(Digest))
  .query(({ ctx, input }) => ctx.shared(input, () => readDigest(ctx.reader, input)));

export const breakdown = freshProcedure("read")
  .meta(rest("GET", "/breakdown", "Restarts, cost or uncached tokens of a range by harness and model"))
  .input(BreakdownQuery)
  .output(answer(Breakdown))
  .query(({ ctx, input }) => ctx.shared(input, () => readBreakdown(ctx.reader, input)));

export const spending = router({
  days: freshProcedure("read")
    .meta(rest("GET", "/spending", "What turns cost by day, and the budget of the project"))
    .input(SpendingQuery)
    .output(answer(Spending))
    .query(({ ctx, input }) => ctx.shared(input, () => readSpending(ctx.reader, input))),

  setBudget: procedure("change alerts")
    .meta(rest("PUT", "/spending/budget", "Set what the project wants to spend a day; null clears it"))
    .input(Budget)
    .output(Budget)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.projects.setBudget(principal.projectId, input, actorOf(principal)),
    ),
});

export const rebuilds = freshProcedure("read")
  .meta(rest("GET", "/cache-rebuilds", "Why caches were rebuilt in a range, with tokens and list prices"))
  .input(StatusQuery)
  .output(answer(Rebuilds))
  .query(({ ctx, input }) => ctx.shared(input, () => readRebuilds(ctx.reader, input)));

export const falls = freshProcedure("read")
  .meta(rest("GET", "/falls", "What the falls of a range freed, cost and saved"))
  .input(FallsQuery)
  .output(answer(Falls))
  .query(({ ctx, input }) => ctx.shared(input, () => readFalls(ctx.reader, input)));

export const quality = freshProcedure("read")
  .meta(rest("GET", "/quality", "What came of tool calls, by how full the window was"))
  .input(QualityQuery)
  .output(answer(QualityView))
  .query(({ ctx, input }) => ctx.shared(input, () => readQuality(ctx.reader, input)));

export const contents = freshProcedure("read")
  .meta(rest("GET", "/contents", "What windows hold: by tool and MCP server, or of one session part by part"))
  .input(ContentsQuery)
  .output(answer(WindowContentsView))
  .query(({ ctx, input }) => ctx.shared(input, () => readContents(ctx.reader, input)));

export const harnessLines = freshProcedure("read")
  .meta(rest("GET", "/harness-lines", "Where harnesses compact by themselves, computed and observed"))
  .input(HarnessLinesQuery)
  .output(answer(ObservedHarnessLines))
  .query(({ ctx, input }) => ctx.shared(input, () => readHarnessLines(ctx.reader, input)));

export const harnesses = freshProcedure("read")
  .meta(rest("GET", "/harnesses", "Harness instances and what they can report"))
  .input(z.object({}))
  .output(HarnessList)
  .query(({ ctx }) => readHarnesses(ctx.reader));
