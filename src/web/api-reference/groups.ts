import type { ApiDocument, Operation } from '../../platform/api-docs/index.js';

/** An operation with its place in the document. */
export interface ListedOperation {
  /** In lower case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The operations of a tag, which are on one page. */
export interface Group {
  readonly name: string;
  readonly description: string;
  /** The last segment of the page's address. */
  readonly slug: string;
  readonly listed: readonly ListedOperation[];
}

export function groupsOf({ tags, paths }: ApiDocument): Group[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return tags.map((tag) => ({
    ...tag,
    slug: tag.name.toLowerCase().replace(/\W+/g, '-'),
    listed: all.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
}
