import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { BUILT } from "./routes.ts";

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

/**
 * Answers with the files of the build, compressed as the browser takes it (see scripts/compress-assets.mjs). Next would
 * compress them anew for each request, and without Brotli, which is 13 % smaller.
 * @param build Next's folder for the build
 * @param otherwise answers for what is not there
 */
export function builtAssets(build: string, otherwise: Handler): Handler {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get(
    `${BUILT}*`,
    serveStatic({
      root: build,
      rewriteRequestPath: (path) => path.slice("/_next".length),
      precompressed: true,
      onFound(_, { env }) {
        // The name of a file changes with its content.
        env.outgoing.setHeader("Cache-Control", "public, max-age=31536000, immutable");
      },
    }),
  );
  app.notFound(async ({ env }) => {
    await otherwise(env.incoming, env.outgoing as ServerResponse);
    return RESPONSE_ALREADY_SENT;
  });
  return getRequestListener((request, bindings) => app.fetch(request, bindings as HttpBindings));
}
