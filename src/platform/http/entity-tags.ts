import { BadRequest } from './api-errors.js';

/** The opaque parts of a list of entity tags. Weak tags are skipped unless `weak` is set. */
export function parseEntityTags(header: string, weak = false): string[] {
  if (header.trim() === '*') return ['*'];
  const tags = header.matchAll(/(W\/)?"([\x21\x23-\x7e]*)"/g);
  const named = [...tags].filter(([, isWeak]) => weak || !isWeak).map(([, , tag]) => tag ?? '');
  return named.filter((tag) => tag !== '*'); // a quoted `*` is an ordinary tag, which no resource has
}

/**
 * The tags of an `If-Match`, or `*`; null when absent. Weak tags match nothing.
 * @param tags what they are, for the error
 * @throws BadRequest when it lists no tag: a precondition that is ignored would let the write replace what the client means to
 * protect
 */
export function parseIfMatch(header: string | undefined, tags: string): readonly string[] | null {
  if (header === undefined) return null;
  if (parseEntityTags(header, true).length === 0)
    throw new BadRequest(`If-Match must be a list of quoted ${tags} or *`);
  return parseEntityTags(header);
}
