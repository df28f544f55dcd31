import type { EventLoopYield } from '../../../platform/async.js';
import { Ranking } from './ranking.js';

/** A run of letters, digits and combining marks; everything else separates terms. */
const RUN = /[\p{L}\p{N}\p{M}]+/gu;

/** Scripts without spaces between words, and Korean, whose words take so many suffixes that pairs of characters work better. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

const ASCII = /^[\x20-\x7e]*$/;

/** Characters unaffected by folding: nearly all of Chinese, Japanese and Korean. */
const UNFOLDED = /^[\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3]$/;

/** Accents of Latin, Greek and Cyrillic letters. In other scripts, marks make different letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/** Anything longer is not a word and would only use memory. */
const MAX_TERM = 64;

const MAX_WANTED = 16;
/** A prefix of a single letter matches half of all terms. */
const SHORTEST_PREFIX = 2;

/** @param start position in the text @returns true to stop */
type Visit = (term: string, start: number) => boolean;

/** A search term: this exact term, or every term with this prefix. */
export interface Wanted {
  readonly term: string;
  readonly isPrefix: boolean;
}

interface Part {
  readonly text: string;
  readonly start: number;
  readonly isUnspaced: boolean;
}

/**
 * Visits the terms of a text in linear time. Terms are words without case and accents; in scripts without spaces,
 * each pair of adjacent characters, and the last one alone, so that a term starts at every position.
 */
export function eachTerm(text: string, visit: Visit): void {
  for (const part of partsOf(text)) {
    if (!part.isUnspaced) {
      if (visit(wordIn(part), part.start)) return;
      continue;
    }
    const characters = Array.from(part.text);
    const folded = characters.map(foldCharacters);
    let { start } = part;
    for (const [index, character] of characters.entries()) {
      if (visit((folded[index] ?? '') + (folded[index + 1] ?? ''), start)) return;
      start += character.length;
    }
  }
}

/** The terms of a query; a matching note contains all of them. */
export function wantedTerms(query: string): Wanted[] {
  const wanted: Wanted[] = [];
  for (const part of partsOf(query)) {
    const characters = part.isUnspaced ? Array.from(part.text, foldCharacters) : [];
    if (!part.isUnspaced) {
      const term = wordIn(part);
      wanted.push({ term, isPrefix: term.length >= SHORTEST_PREFIX });
    } else if (characters.length === 1) wanted.push({ term: characters.join(''), isPrefix: true });
    else
      for (let at = 1; at < characters.length; at++) {
        wanted.push({ term: characters.slice(at - 1, at + 1).join(''), isPrefix: false });
      }
    if (wanted.length >= MAX_WANTED) break;
  }
  const distinct = new Map(wanted.map((one) => [one.term, one]));
  return [...distinct.values()].slice(0, MAX_WANTED);
}

export function isWanted(term: string, wanted: readonly Wanted[]): boolean {
  return wanted.some((one) => (one.isPrefix ? term.startsWith(one.term) : term === one.term));
}

function* partsOf(text: string): Generator<Part> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (ASCII.test(run)) yield { text: run, start: index, isUnspaced: false };
    else yield* split(run, index);
  }
}

/** Splits a run at script boundaries between spaced and unspaced scripts. */
function* split(run: string, start: number): Generator<Part> {
  let at = 0;
  for (const { 0: text, index } of run.matchAll(UNSPACED)) {
    if (index > at) yield { text: run.slice(at, index), start: start + at, isUnspaced: false };
    yield { text, start: start + index, isUnspaced: true };
    at = index + text.length;
  }
  if (at < run.length) yield { text: run.slice(at), start: start + at, isUnspaced: false };
}

function wordIn({ text }: Part): string {
  const word = ASCII.test(text) ? text.toLowerCase() : foldCharacters(text);
  return word.slice(0, MAX_TERM);
}

function foldCharacters(text: string): string {
  if (UNFOLDED.test(text)) return text;
  const plain = text.normalize('NFKD').toLowerCase().replace(ACCENTS, '').normalize('NFC');
  return plain.replaceAll('ß', 'ss').replaceAll('ς', 'σ');
}

/** A posting is a note's number and, in its low byte, the term's frequency in the note. */
const MAX_COUNT = 255;
const COUNT_BITS = 8;

/** Bytes of heap, measured. */
const PER_TERM = 220;
const PER_POSTING = 14;

/** Maps terms to the numbers of the notes that contain them. */
export class Postings {
  /** Estimated memory use. */
  bytes = 0;

  private readonly lists = new Map<string, number[]>();
  /** Terms grouped by their first characters, so a prefix search scans a single bucket. */
  private readonly buckets = new Map<string, Set<string>>();

  /** Call it once per term and note. */
  add(term: string, number: number, count: number): void {
    this.listOf(term).push(number * 2 ** COUNT_BITS + Math.min(count, MAX_COUNT));
    this.bytes += PER_POSTING;
  }

  remove(term: string, number: number): void {
    const list = this.lists.get(term);
    const at = list?.findIndex((posting) => posting >>> COUNT_BITS === number) ?? -1;
    if (!list || at < 0) return;
    list.splice(at, 1);
    this.bytes -= PER_POSTING;
    if (list.length > 0) return;
    this.lists.delete(term);
    this.buckets.get(bucketOf(term))?.delete(term);
    this.bytes -= PER_TERM;
  }

  /** The frequency of the wanted terms in each note, by note number. @param places exclusive upper bound of the numbers */
  counts(wanted: Wanted, places: number): Uint32Array {
    const counts = new Uint32Array(places);
    for (const term of this.termsFor(wanted)) {
      for (const posting of this.lists.get(term) ?? []) {
        const number = posting >>> COUNT_BITS;
        counts[number] = (counts[number] ?? 0) + (posting & MAX_COUNT);
      }
    }
    return counts;
  }

  private termsFor(wanted: Wanted): string[] {
    if (!wanted.isPrefix) return [wanted.term];
    const bucket = this.buckets.get(bucketOf(wanted.term)) ?? [];
    return [...bucket].filter((term) => isWanted(term, [wanted]));
  }

  private listOf(found: string): number[] {
    const known = this.lists.get(found);
    if (known) return known;
    const term = copyOf(found);
    const list: number[] = [];
    this.lists.set(term, list);
    const bucket = this.buckets.get(bucketOf(term)) ?? new Set();
    this.buckets.set(bucketOf(term), bucket.add(term));
    this.bytes += PER_TERM;
    return list;
  }
}

/** The first character for scripts with one-character prefixes (and some others), otherwise the first two. */
function bucketOf(term: string): string {
  return term.slice(0, term.charCodeAt(0) >= 0x0e00 ? 1 : 2);
}

/** Copies a term, because a substring keeps the whole text alive from which it was cut. */
function copyOf(term: string): string {
  return Buffer.from(term, 'utf16le').toString('utf16le');
}

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
 * In-memory full-text search, built for one kind of query: even 16 words that occur in most of 5,000 notes are answered within
 * milliseconds without delaying other requests.
 */
export class TextIndex {
  private readonly numbers = new Map<string, number>();
  private readonly notes = new Map<number, IndexedNote>();
  private readonly postings = new Postings();
  /** Numbers of removed notes, for reuse: they index arrays and must stay small. */
  private readonly free: number[] = [];
  /** Exclusive upper bound of the numbers; 0 is unused. */
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

  /** Returns the notes that contain all terms, best first; none when there are no terms. Do not modify the index meanwhile. */
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
