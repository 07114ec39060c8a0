import { familyOf } from "@plimsoll/protocol/pure";
import {
  catalogWindow,
  familySize,
  isLocal,
  isOneMillion,
  type ModelSize,
  modelKey,
  plainName,
} from "./models.ts";
import { addSize, type ObservedSize, recentSizes, settledSize } from "./observed-size.ts";

/** What is known of a model in the harnesses of a family. */
export interface ObservedModel {
  /** The family of the harnesses. */
  harness: string;
  /** As it was first sent. */
  model: string;
  sizes: readonly ObservedSize[];
  /** Whether a turn without a size of its own asked for one. */
  asked: boolean;
}

/** Harnesses and models of a project. Beyond, nothing is learned. */
export const MOST_OBSERVED = 1_000;

/**
 * The window sizes that the harnesses of a project reported, in memory. A harness may cap its windows, so a smaller size of its
 * own comes first, then the catalog; reports of other harnesses serve models that the catalog lacks, if they agree.
 */
export class ObservedWindows {
  /** By family, then by plain name. */
  readonly #models = new Map<string, Map<string, ObservedModel>>();
  /** The sizes of all spellings of a model. By family, then by key. */
  readonly #byKey = new Map<string, Map<string, readonly ObservedSize[]>>();
  /** What the models that were asked for were answered. */
  readonly #answers = new Map<string, number | undefined>();
  #changed = new Set<ObservedModel>();
  #count = 0;

  constructor(stored: readonly ObservedModel[] = []) {
    for (const one of stored) {
      const row = this.#rowOf(one.harness, one.model);
      if (row === undefined) continue;
      row.asked = one.asked;
      for (const size of one.sizes) this.#addTo(row, size);
    }
    this.#changed.clear();
    for (const row of this.#rows())
      if (row.asked) this.#answers.set(idOf(row.harness, row.model), this.#find(row.harness, row.model));
  }

  /**
   * Learns reported sizes.
   * @returns the models for which turns without a size had another answer before, by family of harnesses
   */
  learn(reports: Iterable<ReportedSizesOf>): Map<string, string[]> {
    const keys = new Set<string>();
    for (const { harness, model, sizes } of reports) {
      if (isOneMillion(model)) continue;
      const row = this.#rowOf(familyOf(harness), model);
      if (row === undefined) continue;
      for (const size of sizes) if (this.#addTo(row, size)) keys.add(modelKey(model));
    }
    const outdated = new Map<string, string[]>();
    if (keys.size === 0) return outdated;
    for (const row of this.#rows()) {
      if (!row.asked || !keys.has(modelKey(row.model))) continue;
      const id = idOf(row.harness, row.model);
      const after = this.#find(row.harness, row.model);
      if (this.#answers.get(id) === after) continue;
      this.#answers.set(id, after);
      outdated.set(row.harness, [...(outdated.get(row.harness) ?? []), row.model]);
    }
    return outdated;
  }

  /** The size for a turn that has none of its own, in tokens. Remembers that one was asked for. */
  ask(harness: string, model: string): number | undefined {
    if (isOneMillion(model)) return undefined;
    const family = familyOf(harness);
    const id = idOf(family, model);
    if (this.#answers.has(id)) return this.#answers.get(id);
    const row = this.#rowOf(family, model);
    // A model that is not remembered could not be folded again when its size is learned.
    if (row === undefined) return undefined;
    if (!row.asked) {
      row.asked = true;
      this.#changed.add(row);
    }
    const tokens = this.#find(family, model);
    this.#answers.set(id, tokens);
    return tokens;
  }

  /** What `ask` answered. */
  read(harness: string, model: string): number | undefined {
    const family = familyOf(harness);
    const isKnown = this.#models.get(family)?.has(plainName(model)) === true;
    return isOneMillion(model) || !isKnown ? undefined : this.#find(family, model);
  }

  /** What is known of each model. */
  list(): ObservedModel[] {
    return [...this.#rows()].filter(({ sizes }) => sizes.length > 0);
  }

  /** Sizes to offer to a person for a model without one, in tokens. None of them is sure to be right. */
  offersFor(model: string): SizeOffer[] {
    const key = modelKey(model);
    const offers: SizeOffer[] = [];
    const others: ModelSize[] = [];
    for (const { harness, model: known, sizes } of this.list()) {
      const settled = settledSize(sizes);
      if (settled !== undefined) others.push({ model: known, tokens: settled });
      if (modelKey(known) !== key) continue;
      for (const { tokens } of recentSizes(sizes))
        if (!offers.some((one) => one.tokens === tokens))
          offers.push({ tokens, from: "observed", origin: harness });
    }
    const family = familySize(
      model,
      others.filter((one) => modelKey(one.model) !== key),
    );
    if (family !== undefined && !offers.some(({ tokens }) => tokens === family.tokens))
      offers.push({ tokens: family.tokens, from: "family", origin: family.model });
    return offers.slice(0, MOST_OFFERS);
  }

  /** The size to offer for a model with a level of so many tokens above its size. Undefined if no known size is large enough. */
  offerAbove(model: string, level: number): SizeOffer | undefined {
    const listed = catalogWindow(model);
    const fits = ({ tokens }: { tokens: number }) => tokens >= level;
    const offers = this.offersFor(model).filter(fits);
    const observed = offers.find(({ from }) => from === "observed");
    if (observed !== undefined) return observed;
    if (listed !== undefined && listed >= level) return { tokens: listed, from: "catalog", origin: model };
    const common = COMMON_SIZES.find((tokens) => tokens >= level);
    return (
      offers[0] ?? (common === undefined ? undefined : { tokens: common, from: "common", origin: model })
    );
  }

  /** The rows that changed since this was last called. */
  takeChanges(): ObservedModel[] {
    const changed = [...this.#changed];
    this.#changed = new Set();
    return changed.map((row) => ({ ...row }));
  }

  #find(family: string, model: string): number | undefined {
    const own = this.#sizesOf(family, model);
    const listed = catalogWindow(model);
    if (own !== undefined) {
      const tokens = settledSize(own);
      // A session with `[1m]` reports its size under the bare name, which has the smaller one unless it says otherwise.
      return tokens !== undefined && listed !== undefined && tokens > listed ? undefined : tokens;
    }
    // What Ollama loaded elsewhere says nothing of this harness.
    if (isLocal(model) || listed !== undefined) return undefined;
    let agreed: number | undefined;
    for (const other of this.#models.keys()) {
      const sizes = this.#sizesOf(other, model);
      if (sizes === undefined) continue;
      const tokens = settledSize(sizes);
      if (tokens === undefined || (agreed !== undefined && agreed !== tokens)) return undefined;
      agreed = tokens;
    }
    return agreed;
  }

  /** What a family reported for a model: under this name, else in any spelling. */
  #sizesOf(family: string, model: string): readonly ObservedSize[] | undefined {
    const exact = this.#models.get(family)?.get(plainName(model))?.sizes;
    if (exact !== undefined && exact.length > 0) return exact;
    return this.#byKey.get(family)?.get(modelKey(model));
  }

  #rowOf(family: string, model: string): ObservedModel | undefined {
    const plain = plainName(model);
    let models = this.#models.get(family);
    const known = models?.get(plain);
    if (known !== undefined) return known;
    if (this.#count === MOST_OBSERVED) return undefined;
    this.#count += 1;
    if (models === undefined) {
      models = new Map();
      this.#models.set(family, models);
    }
    const row: ObservedModel = { harness: family, model, sizes: [], asked: false };
    models.set(plain, row);
    return row;
  }

  /** Returns whether the size that holds may be another one now. */
  #addTo(row: ObservedModel, size: ObservedSize): boolean {
    const sizes = addSize(row.sizes, size);
    if (sizes === row.sizes) return false;
    let byKey = this.#byKey.get(row.harness);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byKey.set(row.harness, byKey);
    }
    const key = modelKey(row.model);
    const before = byKey.get(key) ?? [];
    const after = addSize(before, size);
    byKey.set(key, after);
    const isNew = settledSize(sizes) !== settledSize(row.sizes) || settledSize(after) !== settledSize(before);
    row.sizes = sizes;
    this.#changed.add(row);
    return isNew;
  }

  *#rows(): Generator<ObservedModel> {
    for (const models of this.#models.values()) yield* models.values();
  }
}

/** The sizes that a harness reported for a model. */
export interface ReportedSizesOf {
  harness: string;
  model: string;
  sizes: Iterable<ObservedSize>;
}

/** A size that a person may choose. */
export interface SizeOffer {
  tokens: number;
  /** `common`: the smallest size that several providers use and that is large enough. */
  from: "observed" | "family" | "catalog" | "common";
  /** The family of harnesses that reported it; or the model that has it. */
  origin: string;
}

const MOST_OFFERS = 5;
const COMMON_SIZES = [32_768, 65_536, 128_000, 200_000, 262_144, 400_000, 1_000_000, 2_000_000];

const idOf = (family: string, model: string) => `${family}\n${plainName(model)}`;
