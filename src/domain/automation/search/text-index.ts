import type { EventLoopYield } from '../../../platform/async/index.js';
import { Postings } from './postings.js';
import { Ranking } from './ranking.js';
import { eachTerm, type Wanted } from './terms.js';

/** A note in the index. */
export interface IndexedNote {
  readonly encryptedPath: string;
  readonly path: string;
  readonly version: number;
  /** The part of the text that is searched; empty when the note is found by path only. */
  readonly text: string;
}

export interface Hit {
  readonly note: IndexedNote;
  readonly score: number;
}

/** A term in the path counts as much as this many in the text. */
const PATH_WEIGHT = 5;

/** Bytes of heap, measured. */
const PER_NOTE = 800;
const EMPTY_INDEX = 16 * 1024;

/**
 * In-memory full-text search. Built for one kind of query, so that even 16 words that occur in most of 5,000 notes
 * are answered within milliseconds without delaying other requests.
 */
export class TextIndex {
  private readonly numbers = new Map<string, number>();
  private readonly notes = new Map<number, IndexedNote>();
  private readonly postings = new Postings();
  /** Numbers of removed notes, for reuse: they index arrays and must stay small. */
  private readonly free: number[] = [];
  /** Above all numbers; 0 is unused. */
  private places = 1;
  private totalLength = 0;
  private noteBytes = EMPTY_INDEX;

  get size(): number {
    return this.notes.size;
  }

  /** Estimated memory use. */
  get bytes(): number {
    return this.noteBytes + this.postings.bytes;
  }

  versionOf(encryptedPath: string): number | undefined {
    return this.noteAt(encryptedPath)?.version;
  }

  paths(): Iterable<string> {
    return this.numbers.keys();
  }

  /** Adds a note or replaces its older version. */
  put(note: IndexedNote): void {
    this.remove(note.encryptedPath);
    const number = this.free.pop() ?? this.places++;
    this.numbers.set(note.encryptedPath, number);
    this.notes.set(number, note);
    this.totalLength += note.text.length;
    this.noteBytes += bytesOf(note);
    for (const [term, count] of countsOf(note)) this.postings.add(term, number, count);
  }

  remove(encryptedPath: string): void {
    const note = this.noteAt(encryptedPath);
    const number = this.numbers.get(encryptedPath);
    if (!note || number === undefined) return;
    this.numbers.delete(encryptedPath);
    this.notes.delete(number);
    this.free.push(number);
    this.totalLength -= note.text.length;
    this.noteBytes -= bytesOf(note);
    for (const term of countsOf(note).keys()) this.postings.remove(term, number);
  }

  /**
   * Returns the notes that contain all of the terms, best first; none when there are no terms. Do not modify the
   * index meanwhile.
   */
  async search(wanted: readonly Wanted[], limit: number, turns: EventLoopYield): Promise<Hit[]> {
    if (wanted.length === 0) return [];
    const average = this.totalLength / this.size || 1;
    const lengthOf = (number: number): number => (this.notes.get(number)?.text.length ?? 0) / average;
    const ranking = new Ranking(this.places, this.size, lengthOf);
    for (const one of wanted) {
      ranking.add(this.postings.counts(one, this.places));
      await turns.pause();
    }
    return ranking.best(limit).flatMap(({ number, score }) => {
      const note = this.notes.get(number);
      return note ? [{ note, score }] : [];
    });
  }

  private noteAt(encryptedPath: string): IndexedNote | undefined {
    return this.notes.get(this.numbers.get(encryptedPath) ?? 0);
  }
}

function countsOf({ path, text }: IndexedNote): Map<string, number> {
  const counts = new Map<string, number>();
  const counting = (weight: number) => (term: string) => {
    counts.set(term, (counts.get(term) ?? 0) + weight);
    return false;
  };
  eachTerm(path, counting(PATH_WEIGHT));
  eachTerm(text, counting(1));
  return counts;
}

/** V8 uses one byte per character for ASCII text and two for nearly all other text. */
function bytesOf({ encryptedPath, path, text }: IndexedNote): number {
  const perCharacter = Buffer.byteLength(text, 'utf8') === text.length ? 1 : 2;
  return PER_NOTE + encryptedPath.length + 2 * path.length + perCharacter * text.length;
}
