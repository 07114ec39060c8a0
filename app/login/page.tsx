import type { Metadata } from "next";
import { Suspense } from "react";
import { LoginPage } from "../../components/shell/login-page.tsx";

export const metadata: Metadata = { title: "Log in" };

export default function Page() {
  return (
    <Suspense>
      <LoginPage />
    </Suspense>
  );
}
