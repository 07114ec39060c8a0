import type { CustomFetch } from "openid-client";
import { awayError } from "./provider-faults.ts";

/** For one answer to arrive whole. */
export const ANSWER_SECONDS = 5;
const MOST_BYTES = 1024 * 1024;

/**
 * A fetch that reads at most 1 MiB. The caller's signal ends it in time.
 * @throws PlimsollError `overloaded` if no whole answer came, or a redirect, or one with status 429 or above 499
 */
export const boundedFetch =
  (issuer: string): CustomFetch =>
  async (url, options) => {
    const { host, pathname } = new URL(url);
    try {
      const response = await fetch(url, options as RequestInit);
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of response.body ?? []) {
        bytes += chunk.length;
        if (bytes > MOST_BYTES) throw awayError(issuer, `${host}${pathname} sent more than 1 MiB`);
        chunks.push(chunk);
      }
      const { status, headers } = response;
      // A redirect leads to the page of a proxy: the endpoints of a provider have none.
      if (status === 429 || status >= 500 || (status >= 300 && status < 400))
        throw awayError(issuer, `${host}${pathname} answered ${status}`);
      return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
    } catch (error) {
      const { name, cause } = error as Error;
      if (name === "PlimsollError") throw error;
      const reason = (cause as { code?: string } | undefined)?.code ?? "the connection broke";
      throw awayError(
        issuer,
        name === "TimeoutError"
          ? `${host} sent no whole answer in ${ANSWER_SECONDS} s`
          : `${host}, ${reason}`,
      );
    }
  };
