import { setTimeout as pause } from 'node:timers/promises';
import { OperatorError } from '../../platform/config/index.js';

/**
 * How long to wait after writing a mark where nothing keeps two databases from writing it: another process that found none before
 * writes its own mark within this time. Tests replace it.
 */
export const SETTLING = { wait: (ms = 5_000): Promise<void> => pause(ms) };

/** The name of the mark in a place. */
export const MARK = 'database-id';

/**
 * The mark of a place of backups: the id of the one database to which it belongs. Two services that share a place would remove
 * each other's backups.
 */
export abstract class PlaceMark {
  /** The operator's name for the place. */
  abstract readonly place: string;

  /** @throws OperatorError unless the place has the mark of this database */
  async expect(id: string): Promise<void> {
    if ((await this.read()) !== id) throw foreignPlace(this.place, 'belongs to another database');
  }

  /** Creates what the service may create itself, such as a bucket. */
  abstract prepare(): Promise<void>;

  /** When several databases mark a place at the same time, one succeeds. @throws OperatorError for the others */
  async make(id: string): Promise<void> {
    await this.create(id);
    await this.expect(id);
  }

  /** An empty mark counts as none: its process ended before it had written the id. */
  async isAbsent(): Promise<boolean> {
    return !(await this.read());
  }

  /** Whether there is a mark that this process may read. */
  async isSeen(): Promise<boolean> {
    try {
      return !(await this.isAbsent());
    } catch (error) {
      if (isForbidden((error as Error).cause)) return false;
      throw error;
    }
  }

  /** Takes the place over from another database, or marks it. */
  abstract replace(id: string): Promise<void>;

  /** Durable when it resolves; nothing changes when there is a mark, unless it stays empty. */
  protected abstract create(id: string): Promise<void>;

  /** Undefined when there is none. */
  protected abstract read(): Promise<string | undefined>;
}

/** Whether a file system or S3 denied access: S3 keys may be limited to a prefix. */
function isForbidden(cause: unknown): boolean {
  const { code, isForbidden: isRefused } = (cause ?? {}) as { code?: unknown; isForbidden?: boolean };
  return code === 'EACCES' || code === 'EPERM' || isRefused === true;
}

export function foreignPlace(place: string, fault: string): OperatorError {
  return new OperatorError(
    `${place} ${fault}; use a place of its own for this one, or \`backup run --adopt\` if that database is lost or no longer used.`,
  );
}
