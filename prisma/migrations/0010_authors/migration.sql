-- Who added a tag, saved a view or changed an endpoint, so that pages and the API can name them.
ALTER TABLE session_tags
  ADD COLUMN actor TEXT,
  ADD COLUMN actor_name TEXT;

ALTER TABLE session_views
  ADD COLUMN actor TEXT,
  ADD COLUMN actor_name TEXT;

ALTER TABLE alert_endpoints
  ADD COLUMN actor TEXT,
  ADD COLUMN actor_name TEXT;
