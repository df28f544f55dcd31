import fc from 'fast-check';
import type { Disk } from '../../../client/src/folder/ports.js';

export type Call = readonly [
  what: 'new' | 'replace' | 'rename' | 'remove' | 'removeDirectory' | 'list' | 'stat' | 'read',
  path: number,
  other: number,
];
const PATHS = [
  'a',
  'b',
  'd',
  'd/a',
  'd/b',
  'd/e/a',
  'a/x',
  'link',
  'link/x',
  'n'.repeat(300),
  'A',
  'D/a',
  'D',
  '\u00e4',
];

export const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.tuple(
    fc.constantFrom('new', 'new', 'replace', 'rename', 'remove', 'removeDirectory', 'list', 'stat', 'read'),
    fc.nat({ max: 13 }),
    fc.nat({ max: 9 }),
  ),
  { maxLength: 25, size: 'max' },
);

/** The answers of a disk to a sequence of calls, without times and inodes. */
export async function answers(disk: Disk, calls: readonly Call[]): Promise<unknown[]> {
  const all: unknown[] = [];
  let count = 0;
  const stage = () => disk.stage(new TextEncoder().encode(`text ${++count}`));
  for (const [what, path, other] of calls) {
    const at = PATHS[path]!;
    const call = async (): Promise<unknown> => {
      if (what === 'new') return (await disk.place(await stage(), at, undefined)).size;
      if (what === 'removeDirectory') return disk.removeDirectory(at);
      if (what === 'list')
        return (await disk.list(at))
          .map(({ name, stat: { kind, size } }) => [name, kind, kind === 'file' ? size : 0])
          .sort();
      const stat = await disk.stat(at);
      if (what === 'stat' || stat?.kind !== 'file') return stat?.kind;
      if (what === 'replace') return (await disk.place(await stage(), at, stat)).size;
      if (what === 'remove') return disk.remove(at, stat);
      if (what === 'rename')
        return (await disk.rename(at, at.replace(/[^/]+$/, ['a', 'b', 'c', 'A'][other % 4]!), stat)).kind;
      const parts: Uint8Array[] = [];
      for await (const part of disk.read(at, stat)) parts.push(part);
      return Buffer.concat(parts).toString();
    };
    all.push([
      what,
      at.slice(0, 9),
      await call().catch((error: unknown) => (error as { failure?: string }).failure ?? String(error)),
    ]);
  }
  return all;
}
