/** A deleted workspace whose data is to be purged. */
export interface DeletedWorkspace {
  readonly id: string;
  /**
   * Null once the owner's account has been deleted. All such workspaces share one turn, because nobody waits for the quota they
   * free.
   */
  readonly userId: string | null;
}

/** A queue of deleted workspaces to purge: round robin between users, and between the workspaces of each user. */
export class PurgeQueue {
  /** By user, in the order of turns: the first user is next, and so is the first id of each user. */
  private readonly users = new Map<string | null, Set<string>>();

  get size(): number {
    let size = 0;
    for (const ids of this.users.values()) size += ids.size;
    return size;
  }

  /** Does nothing if the workspace is already queued. */
  add({ id, userId }: DeletedWorkspace): void {
    const ids = this.users.get(userId) ?? new Set();
    this.users.set(userId, ids);
    ids.add(id);
  }

  /** Removes and returns the next workspace. The user's other workspaces wait until every other user has had a turn. */
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
