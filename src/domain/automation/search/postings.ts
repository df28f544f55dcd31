import { isWanted, type Wanted } from './terms.js';

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

  /** The frequency of the wanted terms in each note, indexed by note number. @param places above all numbers */
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

/** A substring keeps the whole text that it was cut from alive. */
function copyOf(term: string): string {
  return Buffer.from(term, 'utf16le').toString('utf16le');
}
