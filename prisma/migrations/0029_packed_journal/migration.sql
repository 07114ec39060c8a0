-- The server packs the bodies of the journal: PostgreSQL compresses single values late and badly, and most of the WAL of an
-- event was its row in the journal. A body of before stays JSON, which the reader tells by its first byte.
ALTER TABLE "journal" ALTER COLUMN "body" TYPE BYTEA USING convert_to("body", 'UTF8');
