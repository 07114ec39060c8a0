import { connection } from "next/server";
import type { ReactNode } from "react";
import { ClockProvider } from "../../components/clock.tsx";
import { Shell } from "../../components/shell/shell.tsx";
import { now } from "../now.ts";

export default async function ShellLayout({ children }: { children: ReactNode }) {
  // Forces rendering at request time: the clock below must not be fixed at build time.
  await connection();
  return (
    <ClockProvider start={now()}>
      <Shell>{children}</Shell>
    </ClockProvider>
  );
}
