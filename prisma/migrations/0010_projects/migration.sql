-- A project can be archived (it refuses new events) and deleted. Deletion removes rows in many small statements, so the
-- project is first marked as deleting and is gone for everybody from then on.
ALTER TABLE "projects" ADD COLUMN "archived_at" TIMESTAMPTZ(3), ADD COLUMN "deleting_at" TIMESTAMPTZ(3);
