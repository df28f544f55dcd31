/** The opaque parts of a list of entity tags. Weak tags are skipped unless `weak` is set. */
export function parseEntityTags(header: string, weak = false): string[] {
  if (header.trim() === '*') return ['*'];
  const tags = header.matchAll(/(W\/)?"([\x21\x23-\x7e]*)"/g);
  const named = [...tags].filter(([, isWeak]) => weak || !isWeak).map(([, , tag]) => tag ?? '');
  return named.filter((tag) => tag !== '*'); // a quoted `*` is an ordinary tag, which no resource has
}
