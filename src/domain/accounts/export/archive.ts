import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { type Pack, pack } from 'tar-stream';

/** A file of the archive. */
export interface Entry {
  /** Its path: ASCII, at most 100 characters. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Exactly `size` bytes. */
  readonly chunks: Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** A list of checksums in the archive, in the format of `sha256sum`. */
interface ChecksumList {
  readonly name: string;
  readonly sha256: string;
  /** How many files it lists. */
  readonly files: number;
}

const FILES_PER_LIST = 1_000;

export function textEntry(name: string, text: string): Entry {
  const bytes = Buffer.from(text);
  return { name, size: bytes.length, chunks: [bytes] };
}

/** A page of a list, one JSON object in each line. */
export function linesEntry(name: string, number: number, rows: readonly unknown[]): Entry {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  return textEntry(`${name}-${numbered(number)}.jsonl`, text);
}

/**
 * The bytes of a tar with these files, lists of their checksums and, last, `manifest.json` with the checksums of the lists: an
 * archive that was cut off has no manifest. Reads an entry only after those before it were taken, and holds the checksums of at
 * most a thousand files.
 * @param manifest called at the end; returns the manifest without the lists
 */
export async function* tarOf(
  entries: AsyncIterable<Entry>,
  manifest: () => object,
  at: Date,
): AsyncGenerator<Buffer, void> {
  const archive = pack();
  const gone = new AbortController();
  const filled = fill(archive, withChecksums(entries, manifest), at, gone.signal).catch((error: unknown) => {
    archive.destroy(error as Error);
  });
  try {
    yield* archive as AsyncIterable<Buffer>;
  } finally {
    gone.abort();
    archive.destroy();
    await filled;
  }
}

async function fill(
  archive: Pack,
  entries: AsyncIterable<Entry>,
  mtime: Date,
  signal: AbortSignal,
): Promise<void> {
  for await (const { name, size, chunks } of entries) {
    const sink = archive.entry({ name, size, mtime, mode: 0o600 });
    sink.on('error', () => undefined); // the archive fails too, or its reader has disconnected
    for await (const chunk of chunks) if (!sink.write(chunk)) await once(sink, 'drain', { signal });
    signal.throwIfAborted();
    const written = once(sink, 'finish', { signal });
    sink.end(null);
    await written;
  }
  archive.finalize();
}

async function* withChecksums(
  entries: AsyncIterable<Entry>,
  manifest: () => object,
): AsyncGenerator<Entry, void> {
  const checksums: ChecksumList[] = [];
  let lines: string[] = [];
  const list = (): Entry => {
    const name = `checksums/${numbered(checksums.length + 1)}.txt`;
    const text = lines.join('');
    checksums.push({ name, sha256: createHash('sha256').update(text).digest('hex'), files: lines.length });
    lines = [];
    return textEntry(name, text);
  };
  for await (const entry of entries) {
    const hash = createHash('sha256');
    yield { ...entry, chunks: hashed(entry.chunks, hash) };
    lines.push(`${hash.digest('hex')}  ${entry.name}\n`);
    if (lines.length === FILES_PER_LIST) yield list();
  }
  if (lines.length > 0) yield list();
  yield textEntry('manifest.json', `${JSON.stringify({ ...manifest(), checksums }, null, 1)}\n`);
}

async function* hashed(chunks: Entry['chunks'], hash: Hash): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

const numbered = (number: number): string => String(number).padStart(6, '0');

/** The first file of every export. */
export const README = `This archive has everything that the service holds of one account.

It is complete if it ends with the file manifest.json. That file has the checksums of the lists in
checksums/, and these have the checksums of all other files: "sha256sum -c checksums/*.txt" checks
them in the folder that the archive was unpacked to.

account.json, devices-*, tokens-*, sessions-*, key-sessions-*, networks-*, notices-*, payments-* and
audit-* are about the account. No password, token or key is among them.

workspaces/ID/ has one workspace: its salts (workspace.json), its files, versions, changes, checkpoints,
key slots and attachments. Names of files, labels and contents are encrypted as the service stores them; only
the password of the workspace opens them. The client of the service decrypts them into a folder:

  cloud-sync export export.tar --out FOLDER

Files that end in .jsonl have one JSON object in each line. The format is described in
docs/reference/export-format.md of the service.
`;
