import { toast } from "../ui/toast.ts";

/** Ends the session of this browser and opens the login page. */
export async function signOut(): Promise<void> {
  const response = await fetch("/api/v1/logout", { method: "POST" }).catch(() => undefined);
  if (response?.ok) window.location.assign("/login");
  else toast.error("You are still signed in: the server did not respond. Try again.");
}
