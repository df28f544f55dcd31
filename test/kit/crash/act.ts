import type supertest from 'supertest';
import type { TestUser } from '../index.js';
import type { Sight, WorkspaceHistory } from './history.js';

/** What a client wants done, and what it makes of an answer, or of none. */
export interface Act {
  readonly kind: string;
  /** The workspace that it is about; undefined for what belongs to the account. */
  readonly history?: WorkspaceHistory;
  readonly expected: readonly number[];
  send(user: TestUser): supertest.Test;
  /** It was acknowledged. */
  done(answer: supertest.Response): void;
  /** It was not: until `settle`, nobody knows. */
  lost(): void;
  /**
   * Looks whether it has happened, wholly or not at all, and sends it again as a client would. Then it is known.
   * @returns whether it had happened
   */
  settle(user: TestUser, sight: Sight): Promise<boolean>;
}
