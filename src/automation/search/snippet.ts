import { eachTerm, isWanted, type Wanted } from './terms.js';

const BEFORE = 60;
const LENGTH = 200;
const CUT = '…';

/** A piece of the text around the first term that was asked for, on one line; its beginning when there is none. */
export function snippetOf(text: string, wanted: readonly Wanted[]): string {
  const hit = firstHit(text, wanted);
  const start = hit <= BEFORE ? 0 : wholeCharacter(text, hit - BEFORE);
  const end = wholeCharacter(text, Math.min(start + LENGTH, text.length));
  const piece = text.slice(start, end).replace(/\s+/g, ' ').trim();
  return `${start > 0 ? CUT : ''}${piece}${end < text.length ? CUT : ''}`;
}

function firstHit(text: string, wanted: readonly Wanted[]): number {
  let hit = 0;
  eachTerm(text, (term, start) => {
    if (!isWanted(term, wanted)) return false;
    hit = start;
    return true;
  });
  return hit;
}

/** No later than `at`, and not between the halves of a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}
