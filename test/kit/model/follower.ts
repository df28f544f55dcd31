import type { Answer, Of } from './operations.js';

interface Told {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly version: number;
}

interface Pulled {
  readonly changes: readonly (Told & { readonly action: 'upsert' | 'delete' })[];
  readonly cursor: number;
}

interface Page {
  readonly files: readonly Told[];
  readonly cursor: number;
  readonly hasMore: boolean;
}

type Mirror = Map<string, string>;

/** A device that follows a workspace by pulls and walks of the snapshot alone. */
export class Follower {
  cursor = 0;
  /** The files that it believes to be live: path → content hash and version. */
  mirror: Mirror = new Map();
  private walk: { readonly cursor: number; readonly mirror: Mirror; readonly after: string } | undefined;

  /** The last path of the last page of its walk; null: it begins again. */
  get after(): string | null {
    return this.walk?.after ?? null;
  }

  pulled({ cursor: from }: Of<'pull'>, { status, body }: Answer): void {
    if (status !== 200 || from !== this.cursor) return;
    const { changes, cursor } = body as Pulled;
    for (const change of changes) {
      if (change.action === 'delete') this.mirror.delete(change.encryptedPath);
      else note(change, this.mirror);
    }
    this.cursor = cursor;
  }

  /** Only the cursor of the first page counts: writes during the walk are above it. */
  walked({ after }: Of<'snapshot'>, { status, body }: Answer): void {
    if (status !== 200 || after !== this.after) return;
    const { files, cursor, hasMore } = body as Page;
    const walk = this.walk ?? { cursor, mirror: new Map<string, string>() };
    for (const file of files) note(file, walk.mirror);
    this.walk = hasMore ? { ...walk, after: files.at(-1)?.encryptedPath ?? '' } : undefined;
    if (hasMore) return;
    this.mirror = walk.mirror;
    this.cursor = walk.cursor;
  }
}

function note({ encryptedPath, contentHash, version }: Told, mirror: Mirror): void {
  mirror.set(encryptedPath, `${version} ${contentHash}`);
}
