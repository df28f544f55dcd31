import { foldKey, type Traits } from './names.js';
import { type LocalTree, parentsOf } from './trees.js';

/** All entries of the folder, by the form that this disk compares. */
export class Twins {
  private byKey: Map<string, string> | undefined;

  constructor(
    private readonly local: LocalTree,
    private readonly traits: Traits,
  ) {}

  /** Entries with another spelling in the place of this path or of a directory above it, outermost first. */
  of(path: string): string[] {
    if (!this.traits.foldsCase && !this.traits.foldsUnicode) return [];
    const { files, directories, heldBack } = this.local;
    this.byKey ??= new Map(
      [...directories.keys(), ...files.keys(), ...heldBack.keys()].map((name) => [
        foldKey(this.traits, name),
        name,
      ]),
    );
    return [...parentsOf(path), path].flatMap((place) => {
      const twin = this.byKey?.get(foldKey(this.traits, place));
      return twin === undefined || twin === place ? [] : [twin];
    });
  }
}
