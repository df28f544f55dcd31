import { createHash } from 'node:crypto';

const hashes = new Map<string, string>();

/** Contents are texts in the model, and few, so their hashes are cached. */
export function hashOf(content: string): string {
  const known = hashes.get(content);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(content, 'latin1').digest('hex');
  hashes.set(content, hash);
  return hash;
}

export const sizeOf = (content: string): number => content.length;

export const timeOf = (ms: number): string => new Date(ms).toISOString();

/** The time format of checkpoints: UTC, to the second, without a zone. */
export const secondOf = (ms: number): string => timeOf(ms).slice(0, 19).replace('T', ' ');
