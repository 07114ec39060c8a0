-- The latest compactions of a project show where its harnesses really compact. Partial: a compaction follows hundreds of turns, so
-- few writes touch this index.
CREATE INDEX "boundaries_compacted_idx" ON "boundaries" ("project_id", "at" DESC) WHERE "type" = 'compacted';
