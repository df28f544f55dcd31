import { Readable } from 'node:stream';
import type { ListedFile } from './files.service.js';
import { fileWire } from './files.wire.js';

type Pages = AsyncGenerator<ListedFile[], void>;

/**
 * `{"files":[…]}` as a stream that holds one page at a time, and asks for the next when the client has taken it.
 * The first page is read before this resolves, so that an error can still be answered as one.
 */
export async function listing(pages: Pages): Promise<Readable> {
  const { value: first } = await pages.next();
  // One chunk ahead at most. A client that goes away destroys the stream, which ends the generators.
  return Readable.from(json(first ?? [], pages), { highWaterMark: 1 });
}

async function* json(first: ListedFile[], rest: Pages): AsyncGenerator<string> {
  yield `{"files":[${items(first)}`;
  for await (const page of rest) if (page.length > 0) yield `,${items(page)}`;
  yield ']}';
}

function items(page: ListedFile[]): string {
  return page.map((file) => JSON.stringify(fileWire(file))).join(',');
}
