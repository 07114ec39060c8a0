/** @type {import("next").NextConfig} */
const config = {
  // Compiled from source, so that pages and server share one definition of the protocol.
  transpilePackages: ["@plimsoll/fold", "@plimsoll/protocol"],
  // `npm run types` checks the whole repository. Next rewrites the tsconfig it is given, so it gets its own.
  typescript: { ignoreBuildErrors: true, tsconfigPath: "app/tsconfig.json" },
  // Stops `next dev` from writing agent instruction files into the repository.
  agentRules: false,
  devIndicators: false,
  poweredByHeader: false,
  reactStrictMode: true,
  experimental: {
    // Small files compress worse, and every page loads most of them: docs/decisions/0158.
    turbopackChunking: { minChunkSize: 1_000_000 },
  },
  // The pages have no images to resize, and its error messages repeat the request.
  images: { unoptimized: true },
  // Chromium asks for it now and then, though each page names its icon.
  redirects: async () => [{ source: "/favicon.ico", destination: "/icon.svg", permanent: true }],
  // The dev server accepts requests on either loopback name.
  allowedDevOrigins: ["127.0.0.1", "localhost"],
};

export default config;
