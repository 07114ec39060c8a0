import type { NextConfig } from "next";

const config: NextConfig = {
  // The protocol is imported from source, so that pages and server read one definition.
  transpilePackages: ["@plimsoll/protocol"],
  // `npm run check` type-checks the whole repository; a second pass here only slows the build.
  // Next rewrites the configuration it is given, so it gets its own.
  typescript: { ignoreBuildErrors: true, tsconfigPath: "app/tsconfig.json" },
  // Keep `next dev` from writing instruction files into the repository.
  agentRules: false,
  devIndicators: false,
  poweredByHeader: false,
  reactStrictMode: true,
  // A custom server answers on whichever loopback name the browser used.
  allowedDevOrigins: ["127.0.0.1", "localhost"],
};

export default config;
