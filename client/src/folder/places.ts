import { foldKey, type Traits } from './names.js';
import { type LocalTree, parentsOf } from './trees.js';

type PlaceKind = 'file' | 'directory' | 'other';

export interface Place {
  readonly path: string;
  readonly kind: PlaceKind;
  /** false for what this plan will create */
  readonly isThere: boolean;
}

/** The entries at the paths of this disk. Spellings that the disk treats as one name are one place. */
export class Places {
  private readonly byKey = new Map<string, Place>();

  constructor(
    private readonly traits: Traits,
    local: LocalTree,
  ) {
    for (const path of local.directories.keys()) this.put({ path, kind: 'directory', isThere: true });
    for (const path of local.files.keys()) this.put({ path, kind: 'file', isThere: true });
    for (const path of local.heldBack.keys()) this.put({ path, kind: 'other', isThere: true });
  }

  /** The entry that the disk finds for this path. */
  at(path: string): Place | undefined {
    return this.byKey.get(foldKey(this.traits, path));
  }

  /**
   * Reserves the path for a new file, and its parents for directories.
   * @returns what blocks it, if anything; then nothing is reserved
   */
  take(path: string): Place | undefined {
    const parents = parentsOf(path);
    for (const parent of parents) {
      const place = this.at(parent);
      if (place && (place.kind !== 'directory' || place.path !== parent)) return place;
    }
    const place = this.at(path);
    if (place) return place;
    for (const parent of parents)
      if (!this.at(parent)) this.put({ path: parent, kind: 'directory', isThere: false });
    this.put({ path, kind: 'file', isThere: false });
    return undefined;
  }

  private put(place: Place): void {
    this.byKey.set(foldKey(this.traits, place.path), place);
  }
}
