/** What kind of thing a path asks for. Also the label in the metrics, so there are few of them. */
export type Route =
  | "events"
  | "otlp"
  | "trpc"
  | "live"
  | "policy"
  | "api"
  | "health"
  | "metrics"
  | "asset"
  | "page";

const MACHINE_PREFIXES: [prefix: string, route: Route][] = [
  ["/api/v1/events", "events"],
  ["/api/trpc/", "trpc"],
  ["/api/v1/live", "live"],
  ["/api/v1/policy", "policy"],
  ["/api/", "api"],
  ["/otlp/", "otlp"],
  ["/healthz", "health"],
  ["/readyz", "health"],
  ["/metrics", "metrics"],
  ["/openapi.json", "api"],
];

/** Needed before, or whether or not, somebody is logged in. */
const FREE_PREFIXES = ["/_next/", "/__nextjs", "/fonts/", "/icon", "/apple-icon"];
/** Where the files of the build are. */
export const BUILT = "/_next/static/";
const FREE_PATHS = ["/login", "/login.js", "/favicon.ico", "/robots.txt", "/manifest.webmanifest"];

/** @param url as in the request line, with its query */
export function routeOf(url: string): Route {
  for (const [prefix, route] of MACHINE_PREFIXES) if (url.startsWith(prefix)) return route;
  return isFree(url) ? "asset" : "page";
}

function isFree(url: string): boolean {
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  // A path that is read differently further in could pass for an asset here and be a page there.
  if (path.includes("..") || path.includes("//") || path.includes("\\") || /%2e|%2f|%5c/i.test(path))
    return false;
  return FREE_PATHS.includes(path) || FREE_PREFIXES.some((prefix) => path.startsWith(prefix));
}

/** Files of the build. Their names change with their content, so anybody may store them. */
export const isBuiltAsset = (url: string): boolean => url.startsWith(BUILT) || url.startsWith("/icon");

/** What Next answers besides pages and files: images it resizes, data of other routers, and helpers for development. */
export function isNextInternal(url: string): boolean {
  return (url.startsWith("/_next") && !url.startsWith(BUILT)) || url.startsWith("/__next");
}

/** Whether every % in the path begins a character. Next answers 500 if not. */
export function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url.split("?", 1)[0]!);
    return true;
  } catch {
    return false;
  }
}

/** Whether the page server answers, instead of the app for machines. */
export const isForPeople = (route: Route): boolean => route === "page" || route === "asset";

/** Whether it is `POST /api/v1/events`, and nothing else below that path. */
export function takesEvents(method: string | undefined, url: string): boolean {
  return method === "POST" && (url === "/api/v1/events" || url.startsWith("/api/v1/events?"));
}
