import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { extract } from 'tar-stream';

/** The last file of an export. */
export interface Manifest {
  readonly format: string;
  readonly formatVersion: number;
  readonly exportedAt: string;
  readonly workspaces: readonly { readonly id: string; readonly wasDeleted: boolean }[];
  readonly checksums: readonly { readonly name: string; readonly sha256: string; readonly files: number }[];
}

/** A file in the archive: its bytes must be read before the next one. */
export interface ArchivedFile {
  readonly name: string;
  readonly read: () => Promise<Buffer>;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The files of a tar, in their order. @throws when the file is not a tar, or is cut off */
export async function* filesOf(path: string): AsyncGenerator<ArchivedFile, void> {
  const archive = extract();
  pipeline(createReadStream(path), archive as unknown as NodeJS.WritableStream, () => undefined); // the loop gets the error
  for await (const entry of archive) {
    const state = { isRead: false };
    yield {
      name: entry.header.name,
      read: async () => {
        state.isRead = true;
        const chunks: Buffer[] = [];
        for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
        return Buffer.concat(chunks);
      },
    };
    if (!state.isRead) entry.resume();
  }
}

/**
 * Checks that the export is complete and unaltered, before anything of it is used.
 * @throws when it was cut off, or a file is missing, added or differs from its checksum
 */
export async function verified(path: string): Promise<Manifest> {
  const sums = new Map<string, string>();
  const listed = new Map<string, string>();
  let manifest: Manifest | undefined;
  for await (const { name, read } of filesOf(path)) {
    if (manifest) throw new Error('the export is not intact: there are files after its manifest');
    if (sums.has(name)) throw new Error(`the export is not intact: ${name} is there twice`);
    const bytes = await read();
    if (name === 'manifest.json') manifest = JSON.parse(bytes.toString()) as Manifest;
    else sums.set(name, sha256(bytes));
    if (name.startsWith('checksums/')) for (const [file, sum] of linesOf(bytes)) listed.set(file, sum);
  }
  if (!manifest) throw new Error('the export is incomplete: it was cut off, and has no manifest');
  if (manifest.format !== 'account-export' || manifest.formatVersion !== 1)
    throw new Error('this is not an export of a version that this program knows');
  for (const { name, sha256: sum } of manifest.checksums) listed.set(name, sum);
  for (const name of new Set([...sums.keys(), ...listed.keys()]))
    if (sums.get(name) !== listed.get(name))
      throw new Error(`the export is not intact: ${name} differs from its checksum`);
  return manifest;
}

function linesOf(bytes: Buffer): [string, string][] {
  const lines = bytes.toString().split('\n').filter(Boolean);
  return lines.map((line) => [line.slice(66), line.slice(0, 64)]);
}
