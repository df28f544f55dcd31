/** A run of letters, digits and combining marks; everything else separates terms. */
const RUN = /[\p{L}\p{N}\p{M}]+/gu;

/**
 * Scripts without spaces between words, and Korean, whose words take so many suffixes that they are better handled
 * this way.
 */
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
