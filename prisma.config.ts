import { defineConfig } from "prisma/config";

// The server migrates itself at start; this file is for Prisma's own commands (generate, studio, migrate).
export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations" },
  ...(process.env.DATABASE_URL ? { datasource: { url: process.env.DATABASE_URL } } : {}),
});
