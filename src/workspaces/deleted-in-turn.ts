/** A workspace that is to be emptied. */
export interface DeletedWorkspace {
  readonly id: string;
  /** Null once the owner's account has been deleted: all of those share one turn, for nobody waits for their quota. */
  readonly userId: string | null;
}

/** Deleted workspaces in the order in which they are emptied: round robin between users, and between those of one user. */
export class DeletedInTurn {
  /** By user; the one whose turn is next comes first, among users as among the ids of one. */
  private readonly users = new Map<string | null, Set<string>>();

  get size(): number {
    let size = 0;
    for (const ids of this.users.values()) size += ids.size;
    return size;
  }

  /** Does nothing when it waits already. */
  add({ id, userId }: DeletedWorkspace): void {
    const ids = this.users.get(userId) ?? new Set();
    this.users.set(userId, ids);
    ids.add(id);
  }

  /** Takes out the next one. The user's other workspaces wait until every other user has had a turn. */
  next(): DeletedWorkspace | undefined {
    for (const [userId, ids] of this.users) {
      this.users.delete(userId);
      for (const id of ids) {
        ids.delete(id);
        if (ids.size > 0) this.users.set(userId, ids);
        return { id, userId };
      }
    }
    return undefined;
  }
}
