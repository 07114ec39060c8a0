-- A policy keeps its comments: the text that its author wrote is stored beside what it says.
ALTER TABLE policy_versions ADD COLUMN text TEXT;
