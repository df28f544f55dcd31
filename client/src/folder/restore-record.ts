import { Journal } from './journal.js';
import type { StateFile } from './ports.js';

type RestoreLine =
  { readonly t: 'begun'; readonly what: string } | { readonly t: 'done'; readonly path: string };

/**
 * What a restore has done so far, in a file outside the folder: repeated after a crash it does only what is left. What
 * somebody has changed since stays as it is then.
 */
export class RestoreRecord {
  private constructor(
    private readonly journal: Journal<RestoreLine>,
    private readonly done: Set<string>,
  ) {}

  /** @param what is restored; a record of something else is forgotten */
  static async open(file: StateFile, what: string): Promise<RestoreRecord> {
    const { journal, records } = await Journal.open<RestoreLine>(file);
    const [first, ...others] = records;
    const isSame = first?.t === 'begun' && first.what === what;
    if (!isSame) await journal.replace([{ t: 'begun', what }]);
    const paths = others.flatMap((line) => (line.t === 'done' ? [line.path] : []));
    return new RestoreRecord(journal, new Set(isSame ? paths : []));
  }

  /** How many files an attempt before this one has restored. */
  get count(): number {
    return this.done.size;
  }

  has(path: string): boolean {
    return this.done.has(path);
  }

  /** To be called once the file is durable. */
  async add(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      this.done.add(path);
      this.journal.add({ t: 'done', path });
    }
    await this.journal.sync();
  }

  /** The restore has come to its end: the next one begins anew. */
  async close(): Promise<void> {
    this.done.clear();
    await this.journal.replace([]);
  }
}
