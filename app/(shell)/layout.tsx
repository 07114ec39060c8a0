import { connection } from "next/server";
import type { ReactNode } from "react";
import { ClockProvider } from "../../components/clock.tsx";
import { Shell } from "../../components/shell/shell.tsx";
import { now } from "../now.ts";

export default async function ShellLayout({ children }: { children: ReactNode }) {
  // The time below belongs to this request, not to the build.
  await connection();
  return (
    <ClockProvider start={now()}>
      <Shell>{children}</Shell>
    </ClockProvider>
  );
}
