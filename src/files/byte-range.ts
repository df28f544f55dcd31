import type { ByteRange } from '../storage/index.js';

const SINGLE_RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * The one range that a `Range` header asks of something `size` bytes long, as RFC 9110 reads it. Undefined means the
 * whole: several ranges, another unit, an end before the start, no range at all.
 */
export function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = SINGLE_RANGE.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;

  const isSuffix = first === ''; // the last so many bytes; all of them when there are fewer
  const start = isSuffix ? Math.max(size - Number(last), 0) : Number(first);
  const end = isSuffix || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (!isSuffix && last !== '' && Number(last) < start) return undefined;
  return start < size ? { start, end } : 'unsatisfiable';
}
