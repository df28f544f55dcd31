import { Readable } from 'node:stream';
import { extract } from 'tar-stream';
import type { TestUser } from './user.js';
import { bytes } from './workspace.js';

/** The files of a tar by name. */
export async function filesIn(tar: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const archive = extract();
  Readable.from([tar]).pipe(archive);
  for await (const entry of archive) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    files.set(entry.header.name, Buffer.concat(chunks));
  }
  return files;
}

/** The export of a user, as a client receives it. */
export async function exportOf(user: TestUser): Promise<Buffer> {
  const { body } = await user.get('/api/v1/auth/me/export').buffer(true).parse(bytes).expect(200);
  return body;
}

/** All lines of a list in an export. */
export function linesOf<Row>(files: ReadonlyMap<string, Buffer>, name: string): Row[] {
  const pages = [...files].filter(
    ([file]) => file.startsWith(`${name}-`) && /^\d{6}\.jsonl$/.test(file.slice(name.length + 1)),
  );
  return pages.flatMap(([, text]) =>
    text
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row),
  );
}
