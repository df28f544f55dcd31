import { Readable } from 'node:stream';
import type { ListedAsset } from './assets.service.js';
import { assetWire } from './assets.wire.js';

type Pages = AsyncGenerator<ListedAsset[], void>;

/**
 * The JSON array as a stream that holds one page at a time, and asks for the next when the client has taken it. The
 * first page is read before this resolves, so that an error can still be answered as one.
 */
export async function listing(pages: Pages): Promise<Readable> {
  const { value: first } = await pages.next();
  return Readable.from(json(first ?? [], pages), { highWaterMark: 1 });
}

async function* json(first: ListedAsset[], rest: Pages): AsyncGenerator<string> {
  yield `[${items(first)}`;
  for await (const page of rest) if (page.length > 0) yield `,${items(page)}`;
  yield ']';
}

function items(page: ListedAsset[]): string {
  return page.map((asset) => JSON.stringify(assetWire(asset))).join(',');
}
