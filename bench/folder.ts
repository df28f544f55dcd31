/**
 * Measures how long the client takes to notice that nothing has changed in a large folder: `node dist/bench/folder.js
 * [FILES]`. The server is a list in memory, so that only the folder is measured.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Cipher,
  FolderSync,
  NodeDisk,
  NodeStateFile,
  type Remote,
  type RemoteChange,
  systemClock,
  systemRandom,
} from '../client/src/folder/index.js';

const FILES = Number(process.argv[2] ?? 100_000);
const PER_DIRECTORY = 100;

const log: RemoteChange[] = [];
const remote: Remote = {
  pull: (cursor) => Promise.resolve({ changes: log.slice(cursor), cursor: log.length, hasMore: false }),
  snapshot: () => Promise.resolve({ files: [], cursor: 0, nextPageCursor: null }),
  downloadMany: () => {
    throw new Error('nothing is to be fetched');
  },
  openDownload: () => {
    throw new Error('nothing is to be fetched');
  },
  async *uploadMany(items) {
    for (const { encryptedPath, contentHash, envelope } of items) {
      log.push({ encryptedPath, contentHash, encryptedSize: envelope.length, version: 1, action: 'upsert' });
      yield await Promise.resolve({ encryptedPath, status: 'stored', contentHash, version: 1 });
    }
  },
  push: () => Promise.resolve({ accepted: [], conflicts: [] }),
};
const cipher: Cipher = {
  encryptPath: (path) => Promise.resolve(path),
  decryptPath: (path) => Promise.resolve(path),
  encryptContent: (_, content) => Promise.resolve(content),
  decryptContent: (_, envelope) => Promise.resolve(envelope),
  encryptStream: (_, content) => content,
  decryptStream: (_, envelope) => envelope,
};

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  const processor = ((user + system) / 1e6).toFixed(2);
  const megabytes = Math.round(process.memoryUsage().rss / 1e6);
  console.log(
    `${what}: ${((performance.now() - begun) / 1_000).toFixed(2)} s, processor ${processor} s, ${megabytes} MB`,
  );
  return result;
}

async function fill(root: string): Promise<void> {
  for (let index = 0; index < FILES; index += PER_DIRECTORY) {
    const directory = join(root, `notes ${index}`);
    await mkdir(directory, { recursive: true });
    for (let at = index; at < Math.min(FILES, index + PER_DIRECTORY); at++)
      await writeFile(join(directory, `note ${at}.md`), `# Note ${at}\n`);
  }
}

const home = await mkdtemp(join(tmpdir(), 'folder-bench-'));
try {
  const root = join(home, 'folder');
  await timed(`${FILES} files written`, () => fill(root));
  const open = (): Promise<FolderSync> =>
    FolderSync.open({
      parts: { disk: new NodeDisk(root), remote, cipher, clock: systemClock, random: systemRandom },
      stateFile: new NodeStateFile(join(home, 'state')),
      workspace: 'bench',
      options: { device: 'bench', maxFileBytes: 100 * 1024 * 1024 },
    });
  const first = await timed('opened', open);
  await timed('first sync', () => first.sync());
  for (let again = 0; again < 3; again++) await timed('nothing has changed', () => first.sync());
  const next = await timed('opened anew', open);
  await timed('nothing has changed', () => next.sync());
} finally {
  await rm(home, { recursive: true, force: true });
}
