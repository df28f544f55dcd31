import ignore, { type Ignore } from 'ignore';
import { isDangerous, OWN_DIRECTORY } from './dangerous.js';
import type { LeftOut } from './decide.js';
import { foldedFully } from './names.js';
import { isWithin, parentsOf } from './trees.js';

/** At the top of the folder, in the syntax of gitignore; synced like any other file. */
export const IGNORE_FILE = '.cloudsyncignore';

/** Temporary files of editors, systems and other sync services. A line `!name` in the ignore file includes one again. */
export const DEFAULTS = [
  '.DS_Store',
  '._*',
  'Thumbs.db',
  '*.swp',
  '*.swo',
  '*.swx',
  '.#*',
  '\\#*#', // a line that begins with # escaped: a line that begins with # is a comment
  '~$*',
  '.~lock.*#',
  '.goutputstream-*',
  '.fuse_hidden*',
  '.nfs*',
  '~syncthing~*',
  '.syncthing.*.tmp',
  '.stfolder',
  '.stversions',
  '.dropbox',
  '.dropbox.cache',
  '.*.icloud',
  '*.part',
  '*.crdownload',
];

/** Fast path: a path that does not match is none of the defaults. Costs a tenth of asking the library. */
const PERHAPS_DEFAULT = /(?:^|\/)(?:[.#~]|Thumbs\.db)|\.(?:sw[opx]|part|crdownload)(?:\/|$)/;

export interface Selection {
  /** Sync only these directories and files; undefined: everything. */
  readonly only?: readonly string[] | undefined;
}

/** Whether the library accepts a line. As in git, an invalid pattern matches nothing; it must not end the sync. */
function isPattern(line: string): boolean {
  try {
    ignore({ allowRelativePaths: true }).add(line.replace(/^!/, '')).ignores('a');
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Decides which paths are synced. */
export class Rules {
  private readonly ignored: Ignore;
  private readonly only: ReadonlySet<string> | undefined;
  private readonly towards: ReadonlySet<string>;
  private readonly hasOwn: boolean;
  private readonly known = new Map<string, LeftOut | undefined>();

  /** @param text the content of the ignore file */
  constructor(text: string, { only }: Selection = {}) {
    // Case-sensitive everywhere, so that all disks decide alike.
    this.ignored = ignore({ ignorecase: false, allowRelativePaths: true })
      .add(DEFAULTS)
      .add(text.normalize('NFC').split(/\r?\n/).filter(isPattern));
    this.hasOwn = text.trim() !== '';
    this.only = only && new Set(only.map((path) => path.normalize('NFC').replace(/^\/+|\/+$/g, '')));
    this.towards = new Set([...(this.only ?? [])].flatMap(parentsOf));
  }

  /** Why a file is not synced; undefined when it is. */
  leftOut(path: string): LeftOut | undefined {
    if (!this.known.has(path)) this.known.set(path, this.judged(path)); // the scan asks first, then the plan
    return this.known.get(path);
  }

  private judged(path: string): LeftOut | undefined {
    if (isDangerous(path)) {
      const isOwn = path === OWN_DIRECTORY || path.startsWith(`${OWN_DIRECTORY}/`);
      const reason = 'a place that programs or the system obey is never synced: rename it on another device';
      return { reason, told: !isOwn };
    }
    // A directory of this name, or a second spelling on a disk that folds names, would be taken for the rules and block syncs.
    if (path !== IGNORE_FILE && foldedFully(path.split('/')[0] ?? '') === IGNORE_FILE)
      return { reason: `the name is that of the ignore file: rename it on another device`, told: true };
    if (this.only && !isWithin(path, this.only) && path !== IGNORE_FILE)
      return { reason: 'not in the selected folders', told: false };
    return this.isIgnored(path) ? { reason: 'ignored by a rule', told: false } : undefined;
  }

  /** Whether nothing in a directory is synced, so that the scan can skip it. */
  skips(directory: string): boolean {
    if (isDangerous(directory)) return true;
    if (this.only && !isWithin(directory, this.only) && !this.towards.has(directory)) return true;
    return this.isIgnored(`${directory}/`);
  }

  private isIgnored(path: string): boolean {
    if (path === IGNORE_FILE || !(this.hasOwn || PERHAPS_DEFAULT.test(path))) return false;
    // Vault paths have no dot segments, which the library would refuse.
    return this.ignored.ignores(path);
  }
}
