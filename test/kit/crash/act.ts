import type supertest from 'supertest';
import type { TestUser } from '../index.js';
import type { Sight, WorkspaceHistory } from './history.js';

/** An operation of a client, and what the client concludes from an answer or from a missing one. */
export interface Act {
  readonly kind: string;
  /** The workspace that it changes; undefined for what belongs to the account. */
  readonly history?: WorkspaceHistory;
  readonly expected: readonly number[];
  send(user: TestUser): supertest.Test;
  /** Records that it was acknowledged. */
  done(answer: supertest.Response): void;
  /** Records that no answer came: until `settle`, its outcome is unknown. */
  lost(): void;
  /**
   * Checks whether it has happened, completely or not at all, and repeats it like a client.
   * @returns whether it had happened
   */
  settle(user: TestUser, sight: Sight): Promise<boolean>;
}
