import { OperatorError } from '../config/index.js';

/** The name of the mark in a place. */
export const MARK = 'database-id';

/**
 * The mark of a place of backups: the id of the one database to which it belongs. Two services that share a place would remove
 * each other's backups.
 */
export abstract class PlaceMark {
  /** As the operator names the place. */
  abstract readonly place: string;

  /** @throws OperatorError unless the place has the mark of this database */
  async expect(id: string): Promise<void> {
    if ((await this.read()) !== id) throw foreignPlace(this.place, 'belongs to another database');
  }

  /** @throws OperatorError when the place has a mark, and it is that of another database */
  async refuseForeign(id: string): Promise<void> {
    if (await this.isAbsent()) return;
    await this.expect(id);
  }

  /** Creates what the service may create itself, such as a bucket. */
  abstract prepare(): Promise<void>;

  /** Of several databases that mark a place at the same time, one succeeds. @throws OperatorError for the others */
  async make(id: string): Promise<void> {
    await this.create(id);
    await this.expect(id);
  }

  async isAbsent(): Promise<boolean> {
    return (await this.read()) === undefined;
  }

  /** Takes the place over from another database, or marks it. */
  abstract replace(id: string): Promise<void>;

  /** Durable when it resolves; nothing changes when there is a mark. */
  protected abstract create(id: string): Promise<void>;

  /** Undefined when there is none. */
  protected abstract read(): Promise<string | undefined>;
}

export function foreignPlace(place: string, fault: string): OperatorError {
  return new OperatorError(
    `${place} ${fault}; use a place of its own for this one, or \`backup run --adopt\` if that database is lost or no longer used.`,
  );
}
