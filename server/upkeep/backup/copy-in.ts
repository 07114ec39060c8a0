import { finished } from "node:stream/promises";
import type pg from "pg";
import { type CopyStreamQuery, from as copyFrom } from "pg-copy-streams";

/** Sends rows to one table with COPY, as fast as PostgreSQL takes them. */
export class CopyIn {
  readonly #stream: CopyStreamQuery;
  /** Settles when PostgreSQL has taken all rows, or refused one. */
  readonly #done: Promise<void>;
  #settled = false;

  /** @param target table and columns as SQL */
  constructor(client: pg.Client, target: string) {
    this.#stream = client.query(copyFrom(`COPY ${target} FROM STDIN`));
    this.#done = finished(this.#stream);
    const settle = () => {
      this.#settled = true;
    };
    this.#done.then(settle, settle);
  }

  /**
   * Resolves when the connection has taken the rows. Call it again only then: pg-copy-streams throws in an event, where
   * nobody can catch it, if an error of PostgreSQL arrives while it still holds rows.
   * @throws the error of PostgreSQL
   */
  async write(rows: Uint8Array): Promise<void> {
    if (this.#settled) await this.#done;
    await Promise.race([
      new Promise<void>((resolve) => this.#stream.write(rows, () => resolve())),
      this.#done,
    ]);
  }

  /**
   * Resolves with the number of rows that were sent.
   * @throws the error of PostgreSQL
   */
  async end(): Promise<number> {
    if (!this.#settled) this.#stream.end();
    await this.#done;
    return this.#stream.rowCount;
  }

  /** Takes back the rows that were sent, unless PostgreSQL has refused them already. Never rejects. */
  async abandon(): Promise<void> {
    if (this.#settled) return;
    this.#stream.destroy(new Error("the restore was abandoned"));
    await this.#done.catch(() => {});
  }
}
