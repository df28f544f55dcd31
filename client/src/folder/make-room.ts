import type { Operation } from './operations.js';
import type { Traits } from './names.js';
import { type Place, Places } from './places.js';
import { type HeldBack, type LocalTree, parentsOf } from './trees.js';

export interface Room {
  readonly operations: Operation[];
  readonly heldBack: HeldBack[];
  readonly waiting: string[];
}

type Contents = 'none' | 'leaving' | 'staying';
type NewFile = Extract<Operation, { kind: 'download' }>;

/**
 * Finds what blocks new files: a file in the place of a directory or the reverse, and names that this disk treats as one.
 * Waits for a blocker that will be deleted; renames a file that blocks a directory, so that every device gets both; holds
 * everything else back.
 */
export function makeRoom(operations: readonly Operation[], local: LocalTree, traits: Traits): Room {
  const isNew = (operation: Operation): operation is NewFile =>
    operation.kind === 'download' && !operation.replaces;
  const news = operations.filter(isNew).sort((a, b) => (a.path < b.path ? -1 : 1));
  if (news.length === 0) return { operations: [...operations], heldBack: [], waiting: [] };
  return new RoomMaker(operations, local, traits).make(news, (operation) => !isNew(operation));
}

class RoomMaker {
  private readonly places: Places;
  private readonly leaving: ReadonlySet<string>;
  private readonly extra = new Map<string, Operation>();
  private readonly heldBack: HeldBack[] = [];
  private readonly waiting: string[] = [];
  private readonly taken: Operation[] = [];
  private readonly contents = new Map<string, Contents>();

  constructor(
    private readonly operations: readonly Operation[],
    private readonly local: LocalTree,
    traits: Traits,
  ) {
    this.places = new Places(traits, local);
    this.leaving = new Set(operations.filter(({ kind }) => kind === 'delete-local').map(({ path }) => path));
  }

  make(news: readonly NewFile[], isOther: (operation: Operation) => boolean): Room {
    // If a new file and a new directory have the same name, the directory wins: another device has it.
    const parents = new Set(news.flatMap(({ path }) => parentsOf(path)));
    const isParent = (path: string): boolean => parents.has(path);
    for (const file of news) if (!isParent(file.path)) this.place(file);
    for (const file of news) if (isParent(file.path)) this.place(file);
    const others = this.operations.filter(
      (operation) => isOther(operation) && !this.extra.has(operation.path),
    );
    return {
      operations: [...others, ...this.extra.values(), ...this.taken],
      heldBack: this.heldBack,
      waiting: this.waiting,
    };
  }

  private place(file: NewFile): void {
    const { path } = file;
    const blocker = this.places.take(path);
    if (!blocker) {
      this.taken.push(file);
      return;
    }
    if (this.goesByItself(blocker) || this.canMakeWay(blocker, path)) this.waiting.push(path);
    else this.heldBack.push({ path, reason: inTheWay(blocker) });
  }

  private goesByItself({ path, kind, isThere }: Place): boolean {
    if (!isThere || kind === 'other') return false;
    return kind === 'file' ? this.leaving.has(path) : this.contentsOf(path) === 'leaving';
  }

  private canMakeWay({ path, kind, isThere }: Place, wanted: string): boolean {
    if (!isThere) return false;
    if (kind === 'directory') {
      if (this.contentsOf(path) === 'none') this.extra.set(path, { kind: 'remove-directory', path });
      return this.extra.has(path);
    }
    const local = this.local.files.get(path);
    // Only where the path itself becomes a directory; of two names that differ by case, the present one stays.
    if (!local || !wanted.startsWith(`${path}/`)) return false;
    this.extra.set(path, { kind: 'move-aside', path, local });
    return true;
  }

  private contentsOf(directory: string): Contents {
    const known = this.contents.get(directory) ?? this.look(`${directory}/`, directory);
    this.contents.set(directory, known);
    return known;
  }

  private look(prefix: string, directory: string): Contents {
    const { files, heldBack, unreadable } = this.local;
    const others = [...heldBack.keys(), ...unreadable.keys()];
    if (others.some((path) => path === directory || path.startsWith(prefix))) return 'staying';
    const within = [...files.keys()].filter((path) => path.startsWith(prefix));
    if (within.length === 0) return 'none';
    return within.every((path) => this.leaving.has(path)) ? 'leaving' : 'staying';
  }
}

function inTheWay({ path, kind }: Place): string {
  if (kind === 'other') return `${path} is in the way, and is no regular file: move it elsewhere`;
  return kind === 'file'
    ? `this disk takes its name for that of ${path}: rename one of the two`
    : `the directory ${path} is in the way: rename one of the two`;
}
