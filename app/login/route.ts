import { loginPage } from "../../components/login/page.ts";

/** The server gives each request for a page its nonce. */
export function GET(request: Request): Response {
  const html = loginPage(request.headers.get("x-nonce") ?? "");
  return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
}
