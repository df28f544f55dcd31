import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { extract } from 'tar-stream';

/** The manifest, which is the last file of an export. */
export interface Manifest {
  readonly format: string;
  readonly formatVersion: number;
  readonly exportedAt: string;
  readonly workspaces: readonly { readonly id: string; readonly wasDeleted: boolean }[];
  readonly checksums: readonly { readonly name: string; readonly sha256: string; readonly files: number }[];
}

/** A file in the archive. Read it before requesting the next one. */
export interface ArchivedFile {
  readonly name: string;
  readonly read: () => Promise<Buffer>;
  readonly chunks: () => AsyncIterable<Buffer>;
}

/** The export is incomplete or altered, and must not be used. */
export class BrokenExport extends Error {
  override readonly name = 'BrokenExport';
}

/** The files of a tar, in order. @throws when the file is not a tar, or is cut off */
export async function* filesOf(path: string): AsyncGenerator<ArchivedFile, void> {
  const archive = extract();
  pipeline(createReadStream(path), archive as unknown as NodeJS.WritableStream, () => undefined); // the loop gets the error
  for await (const entry of archive) {
    const state = { isRead: false };
    const chunks = (): AsyncIterable<Buffer> => {
      state.isRead = true;
      return entry as AsyncIterable<Buffer>;
    };
    const read = async (): Promise<Buffer> => {
      const parts: Buffer[] = [];
      for await (const part of chunks()) parts.push(part);
      return Buffer.concat(parts);
    };
    yield { name: entry.header.name, read, chunks };
    if (!state.isRead) entry.resume();
  }
}

/**
 * Checks that the export is complete and unaltered. Call it before using any of it.
 * @throws when it was cut off, or a file is missing, added or differs from its checksum
 */
export async function verified(path: string): Promise<Manifest> {
  const sums = new Map<string, string>();
  const listed = new Map<string, string>();
  let manifest: Manifest | undefined;
  for await (const { name, read, chunks } of filesOf(path)) {
    if (manifest) throw new BrokenExport('the export is not intact: there are files after its manifest');
    if (sums.has(name)) throw new BrokenExport(`the export is not intact: ${name} is there twice`);
    if (name === 'manifest.json') manifest = manifestIn(await read());
    else if (name.startsWith('checksums/')) {
      const bytes = await read();
      sums.set(name, createHash('sha256').update(bytes).digest('hex'));
      for (const [file, sum] of linesOf(bytes)) listed.set(file, sum);
    } else sums.set(name, await sumOf(chunks()));
  }
  if (!manifest) throw new BrokenExport('the export is incomplete: it was cut off, and has no manifest');
  for (const { name, sha256: sum } of manifest.checksums) listed.set(name, sum);
  for (const name of new Set([...sums.keys(), ...listed.keys()]))
    if (sums.get(name) !== listed.get(name))
      throw new BrokenExport(`the export is not intact: ${name} differs from its checksum`);
  return manifest;
}

/** Hashes without holding the content: an attachment or note may be large. */
async function sumOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

/** @throws BrokenExport for an unknown format */
function manifestIn(bytes: Buffer): Manifest {
  const manifest = (rowOf(bytes.toString()) ?? {}) as Partial<Record<keyof Manifest, unknown>>;
  if (manifest.format !== 'account-export' || manifest.formatVersion !== 1)
    throw new BrokenExport('this is not an export of a version that this program knows');
  const { workspaces, checksums, exportedAt } = manifest;
  const areRows = [workspaces, checksums].every(
    (list) => Array.isArray(list) && list.every((row) => typeof row === 'object' && row !== null),
  );
  if (areRows && typeof exportedAt === 'string') return manifest as Manifest;
  throw new BrokenExport('the export is not intact: its manifest has another form');
}

/** @returns undefined for anything but a JSON object: nothing in an archive is trusted */
export function rowOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const row: unknown = JSON.parse(text);
    return typeof row === 'object' && row !== null ? (row as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function linesOf(bytes: Buffer): [string, string][] {
  const lines = bytes.toString().split('\n').filter(Boolean);
  return lines.map((line) => [line.slice(66), line.slice(0, 64)]);
}
