-- An agent is written by whoever read its latest version: nobody locks it to read it, and a process may remember it.

ALTER TABLE "agents" ADD COLUMN "version" INTEGER NOT NULL DEFAULT 1;
