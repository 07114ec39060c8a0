/** @jsxImportSource #jsx */
import type { Metadata } from "next";
import { DevicePage } from "../../../components/device/device-page.tsx";

export const metadata: Metadata = { title: "Log a machine in" };

export default function Page() {
  return <DevicePage />;
}
