-- A long history is folded again in steps. The column has the time up to which that is done; NULL before the first step.
ALTER TABLE "refolds" ADD COLUMN "done_to" TIMESTAMPTZ(3);
