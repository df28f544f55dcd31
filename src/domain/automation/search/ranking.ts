/** BM25 parameters: how quickly repeated occurrences saturate, and how much the length of a note matters. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.7;

export interface Ranked {
  readonly number: number;
  readonly score: number;
}

/** Ranks the notes that contain all terms of a query, by number. */
export class Ranking {
  private readonly scores: Float64Array;
  /** How many of the terms each note contains so far. */
  private readonly had: Uint8Array;
  private terms = 0;

  /**
   * @param places exclusive upper bound of the numbers
   * @param notes the number of notes
   * @param lengthOf a note's length relative to the average
   */
  constructor(
    places: number,
    private readonly notes: number,
    private readonly lengthOf: (number: number) => number,
  ) {
    this.scores = new Float64Array(places);
    this.had = new Uint8Array(places);
  }

  /** Adds the next term. @param counts its frequency in each note, indexed by note number */
  add(counts: Uint32Array): void {
    const having = counts.reduce((sum, count) => (count > 0 ? sum + 1 : sum), 0);
    const rarity = Math.log(1 + (this.notes - having + 0.5) / (having + 0.5));
    for (const [number, count] of counts.entries()) {
      if (count === 0 || this.had[number] !== this.terms) continue;
      const damped = count + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * this.lengthOf(number));
      this.scores[number] = this.scoreOf(number) + (rarity * count * (SATURATION + 1)) / damped;
      this.had[number] = this.terms + 1;
    }
    this.terms++;
  }

  /** The notes with the highest scores, best first. */
  best(limit: number): Ranked[] {
    const kept: Ranked[] = [];
    for (const [number, had] of this.had.entries()) {
      if (had < this.terms) continue;
      const score = this.scoreOf(number);
      if (kept.length === limit && score <= (kept.at(-1)?.score ?? 0)) continue;
      let at = kept.length;
      while (at > 0 && score > (kept[at - 1]?.score ?? 0)) at--;
      kept.splice(at, 0, { number, score });
      if (kept.length > limit) kept.pop();
    }
    return kept;
  }

  private scoreOf(number: number): number {
    return this.scores[number] ?? 0;
  }
}
