import { lengthOn, MAX_VAULT_PATH_BYTES, type Traits, utf8Length } from './names.js';
import { joined, nameOf, parentOf } from './trees.js';

/** Bytes of a name that every disk accepts, so that a conflict copy reaches all devices. */
const EVERYWHERE = 255;
/** A longer suffix after the last dot is not an extension. */
const LONGEST_EXTENSION = 16;

/** The suffix of an earlier conflict. */
const REMARK = / \(conflict(?: from [^()]*)?(?: \d+)?\)$/;

/**
 * A name for this device's version of a file: `plan.md` becomes `plan (conflict from laptop).md`, then
 * `plan (conflict from laptop 2).md`. The stem is shortened where the name would be too long.
 *
 * @param remark `conflict from laptop`; characters that no path can have are replaced
 */
export function conflictPath(path: string, remark: string, count: number, traits: Traits): string {
  const [stem, extension] = parts(nameOf(path));
  const words = remark.normalize('NFC').replace(/[\p{Cc}\p{Cs}/\\<>:"|?*()]/gu, '-');
  const suffix = ` (${shortened(words, 60)}${count === 1 ? '' : ` ${count}`})`;
  const parent = parentOf(path);
  const bytes = Math.min(EVERYWHERE, traits.maxPathBytes, MAX_VAULT_PATH_BYTES - utf8Length(parent) - 1);
  const fits = (candidate: string): boolean =>
    utf8Length(candidate) <= bytes && lengthOn(traits, candidate) <= traits.maxName;
  let kept = Array.from(stem.replace(REMARK, ''));
  while (kept.length > 1 && !fits(kept.join('') + suffix + extension)) kept = kept.slice(0, -1);
  return joined(parent, (kept.join('').trimEnd() + suffix + extension).normalize('NFC'));
}

/** The file that a path is a conflict copy of, by its name; undefined when it is none. */
export function conflictOriginal(path: string): string | undefined {
  const [stem, extension] = parts(nameOf(path));
  return REMARK.test(stem) ? joined(parentOf(path), stem.replace(REMARK, '') + extension) : undefined;
}

function parts(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.');
  const isExtension = dot > 0 && utf8Length(name.slice(dot)) <= LONGEST_EXTENSION;
  return isExtension ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
}

function shortened(text: string, bytes: number): string {
  let kept = Array.from(text);
  while (utf8Length(kept.join('')) > bytes) kept = kept.slice(0, -1);
  return kept.join('').trimEnd();
}
