import { Journal } from './journal.js';
import type { StateFile } from './ports.js';

type RestoreLine =
  { readonly t: 'begun'; readonly what: string } | { readonly t: 'done'; readonly path: string };

/**
 * The progress of a restore, in a file outside the folder. When repeated after a crash, a restore does only the remaining
 * files; files that the user has changed since stay as they are.
 */
export class RestoreRecord {
  private constructor(
    private readonly journal: Journal<RestoreLine>,
    private readonly done: Set<string>,
  ) {}

  /** @param what identifies the restore; a record of another one is discarded */
  static async open(file: StateFile, what: string): Promise<RestoreRecord> {
    const { journal, records } = await Journal.open<RestoreLine>(file);
    const [first, ...others] = records;
    const isSame = first?.t === 'begun' && first.what === what;
    if (!isSame) await journal.replace([{ t: 'begun', what }]);
    const paths = others.flatMap((line) => (line.t === 'done' ? [line.path] : []));
    return new RestoreRecord(journal, new Set(isSame ? paths : []));
  }

  /** Number of files that an earlier attempt has restored. */
  get count(): number {
    return this.done.size;
  }

  has(path: string): boolean {
    return this.done.has(path);
  }

  /** Call it once the files are durable. */
  async add(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      this.done.add(path);
      this.journal.add({ t: 'done', path });
    }
    await this.journal.sync();
  }

  /** The restore is complete; the next one starts from the beginning. */
  async close(): Promise<void> {
    this.done.clear();
    await this.journal.replace([]);
  }
}
